//! Files as a program uses them: one module a topic.

mod durability;
mod killed;
