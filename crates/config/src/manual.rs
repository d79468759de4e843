//! The manual page, from the table of flags.

use crate::flags::GROUPS;
use crate::help::details;

/// `aiperf-profile(1)` in roff. The exit codes come with their meanings.
pub fn man_page(version: &str, exit_codes: &[(&str, &str)]) -> String {
    let mut out = format!(
        ".TH AIPERF\\-PROFILE 1 \"\" \"aiperf {version}\" \"User Commands\"\n.SH NAME\naiperf\\-profile \\- benchmark an LLM inference server\n\
         .SH SYNOPSIS\n.B aiperf profile\n\\-\\-model NAME [\\-\\-url HOST:PORT] [FLAGS]\n.br\n.B aiperf profile\n\\-\\-config FILE.yaml [FLAGS]\n\
         .SH DESCRIPTION\nSends requests to a server, by flags or a configuration file, times every response, and writes a summary and a record of \
         each request.\n"
    );
    for group in GROUPS {
        out.push_str(&format!(".SH {}\n", escape(&group.title.to_uppercase())));
        for flag in group.flags {
            let spellings: Vec<String> = flag
                .short()
                .into_iter()
                .chain([flag.usual()])
                .map(|name| format!("\\fB{}\\fR", escape(name)))
                .collect();
            out.push_str(&format!(
                ".TP\n{} {}\n{}.\n",
                spellings.join(", "),
                escape(flag.placeholder()),
                escape(flag.about())
            ));
            for line in details(flag) {
                out.push_str(&format!(".br\n{}\n", escape(&line)));
            }
        }
    }
    out.push_str(".SH EXIT STATUS\n");
    for (codes, meaning) in exit_codes {
        out.push_str(&format!(".TP\n{}\n{}\n", escape(codes), escape(meaning)));
    }
    out
}

/// Text for troff: a backslash, a hyphen that stays one, and a line that is no request.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
