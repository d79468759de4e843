//! Shell completions of a command line: from the table of flags for `profile`, from its arguments for the rest. Only
//! accepted words are offered.

use crate::context::Context;
use crate::flags::{self, Flag, FlagType, Status, Takes};
use crate::plan::resolve_profile;
use crate::values::offered;
use std::collections::BTreeMap;
use std::path::Path;

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

/// What may follow a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    Nothing,
    /// A value that only the user knows.
    Any,
    Path,
    OneOf(Vec<String>),
}

/// A word that begins with a dash.
#[derive(Clone, Debug)]
pub struct Word {
    pub spelling: String,
    pub about: String,
    pub values: Values,
}

/// A command, or an action of a command.
#[derive(Clone, Debug)]
pub struct Command {
    pub name: String,
    pub about: String,
    /// Its actions, by their second word.
    pub actions: Vec<Command>,
    pub words: Vec<Word>,
    /// The operands after it.
    pub operand: Values,
}

impl Command {
    /// A command without choices.
    pub fn new(name: &str, about: &str) -> Self {
        let (name, about) = (name.to_owned(), about.to_owned());
        Self { name, about, actions: Vec::new(), words: Vec::new(), operand: Values::Nothing }
    }
}

/// The accepted flags of `profile`, one word per spelling, without those in `but`.
pub fn profile_words(but: &[&str]) -> Vec<Word> {
    let offered = flags::all().filter(|flag| !matches!(flag.status, Status::NotYet(_)) && !but.contains(&flag.name));
    let mut words = Vec::new();
    for flag in offered {
        let values = values(flag);
        let spellings = std::iter::once(flag.name).chain(flag.aliases.iter().copied()).chain(flag.negation);
        words.extend(spellings.map(|spelling| Word {
            spelling: spelling.to_owned(),
            about: flag.about().to_owned(),
            values: values.clone(),
        }));
    }
    words
}

fn values(flag: &Flag) -> Values {
    let choices: Vec<String> = match flag.kind {
        FlagType::Choice(choices) | FlagType::Literal(choices) | FlagType::Choices(choices) => {
            offered(flag, choices).iter().map(|choice| choice.to_string()).collect()
        }
        FlagType::IntChoice(choices) => choices.iter().map(i64::to_string).collect(),
        FlagType::Path | FlagType::ExistingPath => return Values::Path,
        _ if flag.takes == Takes::Nothing => return Values::Nothing,
        _ => return Values::Any,
    };
    Values::OneOf(choices.into_iter().filter(|choice| is_there(flag, choice)).collect())
}

/// Whether a choice is not refused as a missing feature. What it needs besides is not checked here.
fn is_there(flag: &Flag, choice: &str) -> bool {
    let env = BTreeMap::new();
    let nowhere = Path::new("/nonexistent");
    let ctx = Context { env: &env, stdout_is_terminal: true, cwd: nowhere, benchmark_id: String::new() };
    let args = ["--model", "m", flag.name, choice].map(str::to_owned);
    resolve_profile(&args, &ctx).err().is_none_or(|error| !error.to_string().contains("is not there yet"))
}

/// The completions of a shell for these commands.
pub fn completions(shell: Shell, commands: &[Command]) -> String {
    match shell {
        Shell::Bash => bash(commands),
        Shell::Zsh => zsh(commands),
        Shell::Fish => fish(commands),
    }
}

fn names(commands: &[Command]) -> String {
    commands.iter().map(|command| command.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// Readline splits `--ui=si` into three words unless its word breaks were changed. Both forms are completed.
const BASH: &str = r#"# bash completion for aiperf
_aiperf() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} lead=
    case $cur in
        --*=*) prev=${cur%%=*} lead=$prev= cur=${cur#*=} ;;
        =) cur= ;;
        *) [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]} ;;
    esac
    local words= files=
"#;

const BASH_END: &str = r#"        esac
    fi
    if [ -n "$files" ]; then
        COMPREPLY=($(compgen -P "$lead" -f -- "$cur"))
    else
        COMPREPLY=($(compgen -P "$lead" -W "$words" -- "$cur"))
    fi
}
complete -F _aiperf aiperf
"#;

fn bash(commands: &[Command]) -> String {
    let mut out = String::from(BASH);
    out.push_str(&format!(
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='{} help --help --version'\n    else\n        \
         case ${{COMP_WORDS[1]}} in\n            help) words='{}' ;;\n",
        names(commands),
        names(commands)
    ));
    for command in commands {
        out.push_str(&format!("            {})\n", command.name));
        if command.actions.is_empty() {
            bash_words(&mut out, command, "                ");
        } else {
            let pad = " ".repeat(16);
            let actions = names(&command.actions);
            out.push_str(&format!("{pad}if [ \"$COMP_CWORD\" -eq 2 ]; then words='{actions} --help'\n"));
            out.push_str(&format!("{pad}else case ${{COMP_WORDS[2]}} in\n"));
            for action in &command.actions {
                out.push_str(&format!("                    {})\n", action.name));
                bash_words(&mut out, action, "                        ");
                out.push_str("                        ;;\n");
            }
            out.push_str("                esac; fi\n");
        }
        out.push_str("                ;;\n");
    }
    out.push_str(BASH_END);
    out
}

fn bash_words(out: &mut String, command: &Command, pad: &str) {
    let listed = |values: &Values| match values {
        Values::Nothing => None,
        Values::Any => Some(":".to_owned()),
        Values::Path => Some("files=1".to_owned()),
        Values::OneOf(values) => Some(format!("words='{}'", values.join(" "))),
    };
    let spelled = command.words.iter().map(|word| word.spelling.as_str());
    let mut all: Vec<&str> = spelled.chain(["--help"]).collect();
    let operand = match &command.operand {
        Values::OneOf(values) => {
            all.extend(values.iter().map(String::as_str));
            String::new()
        }
        Values::Path => " case $cur in -*) ;; *) files=1 ;; esac".to_owned(),
        Values::Nothing | Values::Any => String::new(),
    };
    out.push_str(&format!("{pad}case $prev in\n"));
    // Spellings of one flag share what follows them.
    let mut at = 0;
    while let Some(word) = command.words.get(at) {
        let same =
            command.words[at..].iter().take_while(|other| other.about == word.about && other.values == word.values);
        let group: Vec<&str> = same.map(|other| other.spelling.as_str()).collect();
        if let Some(does) = listed(&word.values) {
            out.push_str(&format!("{pad}    {}) {does} ;;\n", group.join("|")));
        }
        at += group.len();
    }
    out.push_str(&format!("{pad}    *) words='{}';{operand} ;;\n{pad}esac\n", all.join(" ")));
}

const ZSH_FIRST: &str = r#"        'help:Print help'
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case $words[2] in
        help) _describe command commands ;;
"#;

fn zsh(commands: &[Command]) -> String {
    let described = |commands: &[Command], pad: &str| -> String {
        commands.iter().map(|one| format!("{pad}'{}:{}'\n", one.name, zsh_text(&one.about))).collect()
    };
    let all = described(commands, "        ");
    let mut out = format!("#compdef aiperf\n_aiperf() {{\n    local -a commands\n    commands=(\n{all}");
    out.push_str(ZSH_FIRST);
    for command in commands {
        out.push_str(&format!("        {})\n", command.name));
        if command.actions.is_empty() {
            out.push_str(&zsh_arguments(command, "            "));
        } else {
            let (pad, actions) = (" ".repeat(12), described(&command.actions, "                "));
            out.push_str(&format!("{pad}local -a actions\n{pad}actions=(\n{actions}{pad})\n"));
            out.push_str(&format!("{pad}if (( CURRENT == 3 )); then _describe action actions\n"));
            out.push_str(&format!("{pad}else case $words[3] in\n"));
            for action in &command.actions {
                out.push_str(&format!("                {})\n", action.name));
                out.push_str(&zsh_arguments(action, "                    "));
                out.push_str("                    ;;\n");
            }
            out.push_str("            esac; fi\n");
        }
        out.push_str("            ;;\n");
    }
    out.push_str("    esac\n}\n_aiperf \"$@\"\n");
    out
}

fn zsh_arguments(command: &Command, pad: &str) -> String {
    let takes = |values: &Values| match values {
        Values::Nothing => String::new(),
        Values::Any => ":value: ".to_owned(),
        Values::Path => ":path:_files".to_owned(),
        Values::OneOf(values) => format!(":value:({})", values.join(" ")),
    };
    let mut out = format!("{pad}_arguments \\\n");
    for word in &command.words {
        let sign = if word.spelling.starts_with("--") && word.values != Values::Nothing { "=" } else { "" };
        let (spelling, values) = (&word.spelling, takes(&word.values));
        out.push_str(&format!("{pad}    '*{spelling}{sign}[{}]{values}' \\\n", zsh_text(&word.about)));
    }
    if command.operand != Values::Nothing {
        out.push_str(&format!("{pad}    '*{}' \\\n", takes(&command.operand)));
    }
    out.push_str(&format!("{pad}    '--help[Print help]'\n"));
    out
}

/// Text inside a zsh specification, where quotes, brackets and colons have a meaning.
fn zsh_text(text: &str) -> String {
    text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', "\\:")
}

fn fish(commands: &[Command]) -> String {
    let mut out = String::from("# fish completion for aiperf\ncomplete -c aiperf -f\n");
    let at_first = "complete -c aiperf -n __fish_use_subcommand";
    for command in commands {
        out.push_str(&format!("{at_first} -a {} -d {}\n", command.name, fish_text(&command.about)));
    }
    out.push_str(&format!("{at_first} -a help -d 'Print help'\n{at_first} -s V -l version -d 'Print the version'\n"));
    out.push_str(&format!("complete -c aiperf -n '__fish_seen_subcommand_from help' -a '{}'\n", names(commands)));
    for command in commands {
        let seen = format!("__fish_seen_subcommand_from {}", command.name);
        fish_words(&mut out, command, &seen);
        for action in &command.actions {
            let unseen = format!("{seen}; and not __fish_seen_subcommand_from {}", names(&command.actions));
            let about = fish_text(&action.about);
            out.push_str(&format!("complete -c aiperf -n '{unseen}' -a {} -d {about}\n", action.name));
            fish_words(&mut out, action, &format!("{seen}; and __fish_seen_subcommand_from {}", action.name));
        }
    }
    out
}

fn fish_words(out: &mut String, command: &Command, when: &str) {
    match &command.operand {
        Values::Path => out.push_str(&format!("complete -c aiperf -n '{when}' -F\n")),
        Values::OneOf(values) => out.push_str(&format!("complete -c aiperf -n '{when}' -a '{}'\n", values.join(" "))),
        Values::Nothing | Values::Any => {}
    }
    for Word { spelling, about, values } in &command.words {
        let name = match spelling.strip_prefix("--") {
            Some(long) => format!("-l {long}"),
            None if spelling.len() == 2 => format!("-s {}", &spelling[1..]),
            None => format!("-o {}", spelling.trim_start_matches('-')),
        };
        let takes = match values {
            Values::Nothing => String::new(),
            Values::Any => " -x".to_owned(),
            Values::Path => " -r -F".to_owned(),
            Values::OneOf(values) => format!(" -x -a '{}'", values.join(" ")),
        };
        out.push_str(&format!("complete -c aiperf -n '{when}' {name}{takes} -d {}\n", fish_text(about)));
    }
}

fn fish_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
