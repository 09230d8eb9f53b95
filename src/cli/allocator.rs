//! The system's allocator, with an error message where memory ends.

use std::alloc::{GlobalAlloc, Layout, System};

/// Requests of at least so many bytes are refused to the caller: those that depend on data ask whether there is room, and say what
/// it is for. Smaller ones come from anywhere, and Rust would abort the process.
const LARGE: usize = 1 << 20;

/// The allocator of the command.
pub struct Allocator;

/// Where memory ends. Written without an allocation and without the lock of standard error.
const END: &[u8] = b"error: memory is used up: give the process more of it (ulimit -v, the limit of its container)\n";

/// Ends the process where a small request was refused. The files of a run are as after a kill: `--resume` goes on.
fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    #[cfg(unix)]
    if pointer.is_null() && size < LARGE {
        // SAFETY: the bytes are there, and the process ends without running anything of ours.
        unsafe {
            libc::write(libc::STDERR_FILENO, END.as_ptr().cast(), END.len());
            libc::_exit(1)
        }
    }
    pointer
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}
