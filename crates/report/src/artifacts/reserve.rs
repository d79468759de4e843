//! Disk space for the files at the end of a run: records may fill the disk during the run, and the results are still to
//! be written then.

use crate::staged::Staged;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::thread::{Builder, JoinHandle};

/// Reserves are temporary files of these names: for the files written first, and for the rest.
pub(crate) const RESERVES: [&str; 2] = ["aiperf_reserve_first", "aiperf_reserve_rest"];
/// The summary takes less, and so do the tables and the marker.
const BYTES: usize = 1 << 20;

/// Both reserves, those that could be taken.
type Taken = [Option<Reserve>; 2];

/// The reserves of a run. A thread takes them while the run starts: its first request does not wait for a disk.
#[derive(Debug, Default)]
pub(crate) struct Reserves {
    taking: Option<JoinHandle<Taken>>,
    taken: Taken,
}

impl Reserves {
    /// Begins to take them in a directory.
    pub(crate) fn take(dir: &Path) -> Self {
        let own = dir.to_owned();
        let take = move || {
            let bytes = bytes();
            RESERVES.map(|name| Reserve::take(&own, name, &bytes).ok())
        };
        Self { taking: Builder::new().name("aiperf-reserve".into()).spawn(take).ok(), taken: Taken::default() }
    }

    /// Gives up one of them, and its space.
    pub(crate) fn give(&mut self, part: usize) {
        self.wait();
        self.taken[part] = None;
    }

    fn wait(&mut self) {
        if let Some(taking) = self.taking.take() {
            self.taken = taking.join().unwrap_or_default();
        }
    }
}

impl Drop for Reserves {
    /// Nothing is written in the directory after this.
    fn drop(&mut self) {
        self.wait();
    }
}

/// Not zeros: a file system with compression would store almost nothing.
fn bytes() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0; BYTES];
    for word in bytes.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    bytes
}

/// A file that occupies the space until it is needed.
#[derive(Debug)]
struct Reserve {
    _file: Staged,
}

impl Reserve {
    /// Occupies space in a directory. It is written, not only extended: a sparse file occupies none.
    fn take(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<Self> {
        let (staged, mut file) = Staged::begin(&dir.join(name), |path| File::create_new(path))?;
        file.write_all(bytes)?;
        Ok(Self { _file: staged })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::staged::is_temporary_of;
    use std::fs;

    #[test]
    fn a_reserve_takes_room_until_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::take(dir.path(), RESERVES[0], &bytes()).unwrap();
        let path = reserve._file.path().to_owned();
        assert!(is_temporary_of(&path, &dir.path().join(RESERVES[0])));
        assert_eq!(fs::read(&path).unwrap().len(), BYTES);
        drop(reserve);
        assert!(!path.exists());
    }

    #[test]
    fn each_reserve_is_given_up_alone_and_the_rest_with_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(dir.path()).unwrap().count();
        let mut reserves = Reserves::take(dir.path());
        reserves.give(0);
        assert_eq!(files(), 1);
        drop(reserves);
        assert_eq!(files(), 0);
    }

    #[test]
    fn no_reserve_is_taken_where_there_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        let mut reserves = Reserves::take(&dir.path().join("gone"));
        reserves.wait();
        assert!(reserves.taken.iter().all(Option::is_none));
    }
}
