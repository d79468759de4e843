//! The JUnit file, in which CI reads the result of a command.

use crate::exit::{self, Exit};
use crate::new_file::{WholeFile, check_folder};
use aiperf_campaign::overwrites::check_output;
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_report::{JunitCase, JunitOutcome, junit_xml};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A JUnit file. It was writable when the command started; it exists once there is a result.
pub(crate) struct JunitFile {
    path: PathBuf,
    /// A pipe or a device, which can be opened only once.
    open: Option<WholeFile>,
}

impl JunitFile {
    /// Checks that it can be written; returns an error if not. The check leaves no file behind, because a run may be
    /// killed.
    fn begin(path: &Path) -> Result<Self, String> {
        check_folder("--junit", path)?;
        let file = WholeFile::create(path, true).map_err(|error| {
            format!("--junit {}: {error}\n  try: a file in a folder that can be written to", path.display())
        })?;
        let is_device = path.metadata().is_ok_and(|there| !there.is_file());
        Ok(Self { path: path.to_owned(), open: is_device.then_some(file) })
    }

    /// The same if a path is given. A file that the run itself reads or writes is refused.
    pub(crate) fn begin_where_wanted(path: Option<&Path>, plan: &Plan) -> Result<Option<Self>, String> {
        let Some(path) = path else { return Ok(None) };
        check_output("--junit", path, plan).map_err(|error| error.to_string())?;
        Self::begin(path).map(Some)
    }

    /// Writes the file and returns the exit code: `exit`, unless the file cannot be written. `properties`: those of all
    /// cases together.
    pub(crate) fn write(
        self,
        properties: &[(String, String)],
        cases: Vec<JunitCase>,
        exit: Exit,
        redactor: &Redactor,
    ) -> Exit {
        let cases: Vec<JunitCase> = cases.into_iter().map(|case| without_secrets(case, redactor)).collect();
        let text = junit_xml("aiperf", properties, &cases);
        let Self { path, open } = self;
        let file = open.map_or_else(|| WholeFile::create(&path, true), Ok);
        match file.and_then(|file| put(&text, file)) {
            Ok(()) => exit,
            Err(error) => {
                exit::complain(redactor, &format!("cannot write {}: {error}", path.display()));
                if matches!(exit, Exit::Signal(_)) { exit } else { Exit::Failed }
            }
        }
    }
}

fn put(text: &str, mut file: WholeFile) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.flush()?;
    file.finish()
}

fn without_secrets(case: JunitCase, redactor: &Redactor) -> JunitCase {
    let hide = |text: String| redactor.hide(&text).to_string();
    let outcome = match case.outcome {
        JunitOutcome::Passed => JunitOutcome::Passed,
        JunitOutcome::Failed(words) => JunitOutcome::Failed(hide(words)),
        JunitOutcome::Skipped(words) => JunitOutcome::Skipped(hide(words)),
        JunitOutcome::Error(words) => JunitOutcome::Error(hide(words)),
    };
    // Properties are names of verdicts.
    JunitCase {
        class: hide(case.class),
        name: hide(case.name),
        outcome,
        properties: case.properties,
        output: case.output.map(hide),
    }
}
