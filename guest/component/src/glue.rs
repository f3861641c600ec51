//! What a `no_std` component needs from its surroundings: the only `unsafe` code of the product.

use core::alloc::{GlobalAlloc, Layout};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// The logic is total: reaching this is a bug, and a trap is all that a component can say.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

// memcmp and its kind come from wasi-libc's static library; linking it imports nothing.
#[link(name = "c")]
unsafe extern "C" {}

/// The canonical ABI's allocator, on the global one: wasi-libc's own would mix two heaps.
///
/// # Safety
/// As the canonical ABI says: `old` is null with `old_size` 0, or was returned from here with `old_size` and `align`.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    if new_size == 0 {
        return align as *mut u8;
    }
    // SAFETY: `align` is a power of two and the sizes are below 4 GiB, by the canonical ABI.
    let pointer = unsafe {
        match old_size {
            0 => ALLOCATOR.alloc(Layout::from_size_align_unchecked(new_size, align)),
            _ => ALLOCATOR.realloc(old, Layout::from_size_align_unchecked(old_size, align), new_size),
        }
    };
    if pointer.is_null() {
        core::arch::wasm32::unreachable();
    }
    pointer
}
