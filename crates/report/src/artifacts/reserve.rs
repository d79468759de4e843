//! Disk space for the files at the end of a run: records may fill the disk during the run, and the results are still to
//! be written then.

use crate::staged::Staged;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Reserves are temporary files of these names: for the files written first, and for the rest.
pub(crate) const RESERVES: [&str; 2] = ["aiperf_reserve_first", "aiperf_reserve_rest"];
/// The summary takes less, and so do the tables and the marker.
const BYTES: usize = 1 << 20;

/// A file that occupies the space until it is needed.
#[derive(Debug)]
pub(crate) struct Reserve {
    _file: Staged,
}

impl Reserve {
    /// Occupies space in a directory. It is written, not only extended: a sparse file occupies none.
    pub(crate) fn take(dir: &Path, name: &str) -> io::Result<Self> {
        let (staged, mut file) = Staged::begin(&dir.join(name), |path| File::create_new(path))?;
        // Not zeros: a file system with compression would store almost nothing.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes = vec![0; BYTES];
        for word in bytes.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        file.write_all(&bytes)?;
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
        let reserve = Reserve::take(dir.path(), RESERVES[0]).unwrap();
        let path = reserve._file.path().to_owned();
        assert!(is_temporary_of(&path, &dir.path().join(RESERVES[0])));
        assert_eq!(fs::read(&path).unwrap().len(), BYTES);
        drop(reserve);
        assert!(!path.exists());
    }

    #[test]
    fn no_reserve_is_taken_where_there_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Reserve::take(&dir.path().join("gone"), RESERVES[0]).is_err());
    }
}
