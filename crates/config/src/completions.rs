//! Shell completions, from the table of flags.

use crate::flags::{self, Flag, Kind, Takes};

/// Shells that completions are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Every shell with its name.
    pub const ALL: &[(&str, Self)] = &[("bash", Self::Bash), ("zsh", Self::Zsh), ("fish", Self::Fish)];

    /// The shell of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, shell)| *shell)
    }
}

/// Subcommands that completions offer, with what each does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("profile", "Benchmark a server"),
    ("demo", "Benchmark the built-in simulated server"),
    ("sim", "Serve simulated answers to practise on"),
    ("config", "Make, show and check configuration files"),
    ("validate", "Check a configuration file"),
    ("metrics", "Print every metric"),
    ("completions", "Print completions for a shell"),
    ("man", "Print the manual page"),
];

/// The completions of a shell.
pub fn completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(),
        Shell::Zsh => zsh(),
        Shell::Fish => fish(),
    }
}

fn names() -> Vec<&'static str> {
    COMMANDS.iter().map(|(name, _)| *name).collect()
}

fn spellings(flag: &Flag) -> Vec<&'static str> {
    std::iter::once(flag.name).chain(flag.aliases.iter().copied()).chain(flag.negation).collect()
}

fn choices(flag: &Flag) -> Vec<String> {
    match flag.kind {
        Kind::Choice(choices) | Kind::Literal(choices) | Kind::Choices(choices) => {
            choices.iter().map(|choice| choice.to_string()).collect()
        }
        Kind::IntChoice(choices) => choices.iter().map(i64::to_string).collect(),
        _ => Vec::new(),
    }
}

fn is_path(flag: &Flag) -> bool {
    matches!(flag.kind, Kind::Path | Kind::ExistingPath)
}

fn bash() -> String {
    let all: Vec<&str> = flags::spellings().collect();
    let mut cases = String::new();
    for flag in flags::all() {
        let values = choices(flag);
        let pattern = spellings(flag).join("|");
        if !values.is_empty() {
            cases.push_str(&format!(
                "        {pattern}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n",
                values.join(" ")
            ));
        } else if is_path(flag) {
            cases.push_str(&format!("        {pattern}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"));
        } else if flag.takes != Takes::Nothing {
            cases.push_str(&format!("        {pattern}) return ;;\n"));
        }
    }
    format!(
        "# bash completion for aiperf\n_aiperf() {{\n    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n    \
         if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W '{commands} --help --version' -- \"$cur\")); return\n    fi\n    \
         case ${{COMP_WORDS[1]}} in\n        completions) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")); return ;;\n        \
         validate|config) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n        profile) ;;\n        *) return ;;\n    esac\n    \
         case $prev in\n{cases}    esac\n    COMPREPLY=($(compgen -W '{flags} --help' -- \"$cur\"))\n}}\ncomplete -F _aiperf aiperf\n",
        commands = names().join(" "),
        flags = all.join(" "),
    )
}

fn zsh() -> String {
    let commands: String =
        COMMANDS.iter().map(|(name, about)| format!("        '{name}:{}'\n", zsh_text(about))).collect();
    let mut arguments = String::new();
    for flag in flags::all() {
        let takes = match (flag.takes, choices(flag)) {
            (Takes::Nothing, _) => String::new(),
            (_, values) if !values.is_empty() => format!(":value:({})", values.join(" ")),
            _ if is_path(flag) => ":path:_files".to_owned(),
            _ => ":value: ".to_owned(),
        };
        for spelling in spellings(flag) {
            arguments.push_str(&format!("        '*{spelling}[{}]{takes}' \\\n", zsh_text(flag.about())));
        }
    }
    format!(
        "#compdef aiperf\n_aiperf() {{\n    local -a commands\n    commands=(\n{commands}    )\n    if (( CURRENT == 2 )); then\n        \
         _describe command commands\n        return\n    fi\n    case $words[2] in\n        completions) _values shell bash zsh fish ;;\n        \
         config|validate) _files ;;\n        profile) _arguments \\\n{arguments}        '--help[Every flag]' ;;\n    esac\n}}\n_aiperf \"$@\"\n"
    )
}

/// Text inside a zsh specification: quotes, brackets and colons have a meaning there.
fn zsh_text(text: &str) -> String {
    text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', "\\:")
}

fn fish() -> String {
    let mut out = String::from("# fish completion for aiperf\ncomplete -c aiperf -f\n");
    for (name, about) in COMMANDS {
        out.push_str(&format!("complete -c aiperf -n __fish_use_subcommand -a {name} -d {}\n", fish_text(about)));
    }
    out.push_str("complete -c aiperf -n '__fish_seen_subcommand_from completions' -a 'bash zsh fish'\n");
    out.push_str("complete -c aiperf -n '__fish_seen_subcommand_from config validate' -F\n");
    for flag in flags::all() {
        for spelling in spellings(flag) {
            let name = match spelling.strip_prefix("--") {
                Some(long) => format!("-l {long}"),
                None if spelling.len() == 2 => format!("-s {}", &spelling[1..]),
                None => format!("-o {}", &spelling[1..]),
            };
            let takes = match (flag.takes, choices(flag)) {
                (Takes::Nothing, _) => String::new(),
                (_, values) if !values.is_empty() => format!(" -x -a '{}'", values.join(" ")),
                _ if is_path(flag) => " -r -F".to_owned(),
                _ => " -x".to_owned(),
            };
            out.push_str(&format!(
                "complete -c aiperf -n '__fish_seen_subcommand_from profile' {name}{takes} -d {}\n",
                fish_text(flag.about())
            ));
        }
    }
    out
}

fn fish_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
