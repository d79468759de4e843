//! Whatever stands in a configuration file, the answer is a configuration or a message.
#![no_main]

use aiperf_config::{expanded, resolve_profile, show_resolved, validate};
use aiperf_fuzz::{SCRATCH, check_refusal, context};
use libfuzzer_sys::fuzz_target;

const FILE: &str = "c.yaml";

fuzz_target!(|input: &[u8]| {
    std::fs::write(SCRATCH.join(FILE), input).expect("the scratch file is written");
    let (ctx, args) = (context(), ["--config".to_owned(), FILE.to_owned()]);
    match aiperf_config::resolve_file(FILE, &ctx) {
        Ok(tree) => {
            expanded(&tree, true);
            tree.input_config();
            assert_eq!(validate(FILE, &ctx).is_ok(), resolve_profile(&args, &ctx).is_ok());
            assert!(show_resolved(&args, &ctx).is_ok());
        }
        Err(error) => check_refusal(&error),
    }
    if let Err(error) = resolve_profile(&args, &ctx) {
        check_refusal(&error);
    }
});
