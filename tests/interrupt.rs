//! Interruptions in the library, in a process of its own: the flag belongs to the process.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use ztrack::Error;
use ztrack::context::interrupt::{catch, permit, point, requested};

#[test]
fn only_permitted_work_is_left_and_only_when_asked() {
    let work = || {
        (0..64).into_par_iter().for_each(|_| point());
        Ok(1)
    };
    let permitted = || {
        let _permit = permit();
        work()
    };
    assert!(matches!(catch(permitted), Ok(1)));
    requested().store(true, Ordering::Relaxed);
    assert!(matches!(catch(permitted), Err(Error::Interrupted)));
    assert!(matches!(catch(work), Ok(1)), "the permit ended with the unwinding");
    requested().store(false, Ordering::Relaxed);
    assert!(matches!(catch(permitted), Ok(1)));
}
