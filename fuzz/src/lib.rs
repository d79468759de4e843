//! What several fuzz targets need: bytes cut into reads, and a place to resolve configurations in.

use aiperf_config::{ConfigError, Context};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Bytes at the front of an input that say how the rest is cut.
const CUTS: usize = 4;

/// The rest of an input, and the same cut into pieces as its first bytes say; `None` when it is too short.
pub fn cut(input: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (cuts, bytes) = input.split_at_checked(CUTS)?;
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*cut) + 1));
        pieces.push(piece);
        rest = after;
    }
    Some((bytes, pieces))
}

/// A directory of this process, where configuration files are written and relative paths start.
pub static SCRATCH: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("aiperf-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a scratch directory");
    path
});

static ENVIRONMENT: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| [("A", "1"), ("B", "text"), ("EMPTY", "")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());

/// The world that configurations are resolved in.
pub fn context() -> Context<'static> {
    Context { env: &ENVIRONMENT, stdout_is_terminal: false, cwd: &SCRATCH, benchmark_id: "0123456789ab".into() }
}

/// A refusal has a text and an exit code that users know.
pub fn check_refusal(error: &ConfigError) {
    assert!(!error.to_string().is_empty());
    assert!(matches!(error.exit_code(), 0 | 2));
}
