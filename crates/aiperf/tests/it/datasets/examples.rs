//! The commands of the documentation of prompts.

use crate::datasets::recorded::chat;

#[test]
fn every_command_of_the_page_about_prompts_runs() {
    let page = include_str!("../../../../../docs/prompts.md");
    let commands = page.lines().filter_map(|line| line.strip_prefix("    aiperf profile --model m --url URL "));
    let mut run = 0;
    for command in commands {
        let args = shell_words(command);
        let few = ["--num-dataset-entries", "2", "--request-count", "2"];
        let args: Vec<&str> = args.iter().map(String::as_str).chain(few).collect();
        assert_eq!(chat(&args).good().requests.len(), 2, "{command}");
        run += 1;
    }
    assert!(run > 10, "{run} commands");
}

/// The words of a command line with single quotes.
fn shell_words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}
