//! Linux.

