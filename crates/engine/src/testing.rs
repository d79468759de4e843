//! What several tests of this crate need.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[path = "../tests/support/plan.rs"]
mod plan;

pub(crate) use plan::plan;

/// A file whose contents a test can look at.
#[derive(Clone, Default)]
pub(crate) struct Shown(Arc<Mutex<Vec<u8>>>);

impl Shown {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
