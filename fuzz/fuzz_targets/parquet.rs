#![no_main]

#[path = "../readers.rs"]
#[allow(dead_code)] // each target uses one of them
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = readers::parquet(bytes);
});
