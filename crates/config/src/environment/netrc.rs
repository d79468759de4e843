//! Credentials by host, from a netrc file.

use aiperf_plan::Credentials;

/// The content of a netrc file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Netrc {
    /// By host name; `None` is for all hosts without an entry.
    entries: Vec<(Option<String>, Credentials)>,
}

impl Netrc {
    /// The credentials for a host: its own, or those of `default`. The last of several entries counts.
    pub(crate) fn for_host(&self, host: &str) -> Option<&Credentials> {
        let of = |name: Option<&str>| {
            let found = self.entries.iter().rev().find(|(machine, _)| machine.as_deref() == name);
            found.map(|(_, credentials)| credentials)
        };
        of(Some(host)).or_else(|| of(None))
    }

    /// Parses the text of a file. An error names a line, never its content, which is secret.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = Tokens { rest: text, line: 1 };
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(word) = tokens.next() {
            let line = tokens.line;
            let mut value = |of: &str| tokens.next().ok_or_else(|| format!("line {line}: {of} without a value"));
            match (word.as_str(), entries.last_mut()) {
                ("machine", _) => entries.push(Entry { machine: Some(value("machine")?), ..Entry::default() }),
                ("default", _) => entries.push(Entry::default()),
                ("login" | "user", Some(entry)) => entry.login = Some(value("login")?),
                ("account", Some(entry)) => entry.account = Some(value("account")?),
                ("password", Some(entry)) => entry.password = Some(value("password")?),
                ("macdef", _) => tokens.skip_macro(),
                _ => return Err(format!("line {line} has a word that netrc does not define")),
            }
        }
        let known = entries.into_iter().filter_map(Entry::credentials).collect();
        Ok(Self { entries: known })
    }
}

#[derive(Default)]
struct Entry {
    machine: Option<String>,
    login: Option<String>,
    account: Option<String>,
    password: Option<String>,
}

impl Entry {
    fn credentials(self) -> Option<(Option<String>, Credentials)> {
        let (user, password) = (self.login.or(self.account), self.password);
        if user.is_none() && password.is_none() {
            return None;
        }
        Some((self.machine, Credentials::new(&user.unwrap_or_default(), &password.unwrap_or_default())?))
    }
}

/// Words separated by white space; quotes enclose words with white space, `#` begins a comment.
struct Tokens<'t> {
    rest: &'t str,
    line: usize,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<String> {
        loop {
            let start = self.rest.trim_start();
            self.line += self.rest[..self.rest.len() - start.len()].matches('\n').count();
            self.rest = start;
            match start.strip_prefix('#') {
                Some(comment) => self.rest = comment.find('\n').map_or("", |at| &comment[at..]),
                None => break,
            }
        }
        let quoted = self.rest.starts_with('"');
        let mut chars = self.rest.char_indices().skip(usize::from(quoted));
        let (mut word, mut end) = (String::new(), self.rest.len());
        while let Some((at, c)) = chars.next() {
            match c {
                '"' if quoted => {
                    end = at + 1;
                    break;
                }
                c if !quoted && c.is_whitespace() => {
                    end = at;
                    break;
                }
                '\\' => word.extend(chars.next().map(|(_, escaped)| escaped)),
                c => word.push(c),
            }
        }
        let is_word = end > 0;
        self.rest = &self.rest[end..];
        is_word.then_some(word)
    }

    /// A macro ends with an empty line.
    fn skip_macro(&mut self) {
        let end = self.rest.find("\n\n").map_or(self.rest.len(), |at| at + 1);
        self.line += self.rest[..end].matches('\n').count();
        self.rest = &self.rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(text: &str, host: &str) -> Option<String> {
        Netrc::parse(text).unwrap().for_host(host).map(Credentials::basic)
    }

    fn sent(user: &str, password: &str) -> Option<String> {
        Credentials::new(user, password).map(|credentials| credentials.basic())
    }

    #[test]
    fn a_host_gets_its_own_credentials_or_the_default_ones() {
        let text = "# mine\nmachine a login me password \"p w\"\nmachine b\n  login you # twice\n  password x\n\
                    macdef init\nmachine a login evil password evil\n\nmachine b login you2 password y\n\
                    default login any password z\n";
        assert_eq!(basic(text, "a"), sent("me", "p w"));
        assert_eq!(basic(text, "b"), sent("you2", "y"));
        assert_eq!(basic(text, "c"), sent("any", "z"));
        assert_eq!(basic("machine a login me", "a"), sent("me", ""));
        assert_eq!(basic("machine a", "a"), None);
        assert_eq!(basic("", "a"), None);
    }

    #[test]
    fn an_error_names_the_line_and_not_its_text() {
        let error = Netrc::parse("machine a login me password p4ss\n hunter2 x").unwrap_err();
        assert_eq!(error, "line 2 has a word that netrc does not define");
        assert_eq!(Netrc::parse("machine").unwrap_err(), "line 1: machine without a value");
        assert!(Netrc::parse("login me").is_err());
    }
}
