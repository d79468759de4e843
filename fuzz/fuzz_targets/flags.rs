//! Whatever is typed after `aiperf profile`, one argument a line, the answer is a plan or a message.
#![no_main]

use aiperf_config::{cli_command, resolve_profile};
use aiperf_fuzz::{check_refusal, context};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let args: Vec<String> = input.split('\n').map(str::to_owned).collect();
    cli_command(&args);
    if let Err(error) = resolve_profile(&args, &context()) {
        check_refusal(&error);
    }
});
