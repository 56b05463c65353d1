use crate::file::File;
pub struct R; impl R { pub fn share(&self)->Option<f64>{Some(1.0)} }
pub fn residency(_f:&File,_r:std::ops::Range<u64>)->std::io::Result<R>{Ok(R)}
pub fn in_memory(_f:&File)->bool{false}
pub fn rotational(_f:&File)->bool{false}
pub fn processors()->usize{std::thread::available_parallelism().map_or(1,|n|n.get())}
pub fn available_memory()->u64{1<<30}
pub fn file_system_key(_f:&File)->std::io::Result<String>{Ok("x".into())}
#[derive(Default)] pub struct ProcessUsage{pub user:f64,pub system:f64} impl ProcessUsage{pub fn now()->Self{Self::default()} pub fn since(&self,_:&Self)->Self{Self::default()}}
