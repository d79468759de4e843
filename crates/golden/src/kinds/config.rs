//! Command lines, and the texts of single values.

use super::all_have;
use crate::Found::List;
use crate::has;

kinds! {
    /// A command line, and the configuration that it gives.
    COMMAND_LINE = ["config"], ["config"], List(|cases| all_have(cases, &["argv", "expected"]));
    /// Inputs of one function of the reference: its name is that of the list.
    PARSER = ["config"], ["config"], List(|cases| {
        all_have(cases, &["input"]) && cases.iter().all(|case| has(case, "expected") || case["error"] == true)
    });
}
