//! The source of a payload template: a name, a file, or the setting itself.

use crate::context::Context;
use crate::small_file;
use std::path::{Path, PathBuf};

/// Built-in templates, by name.
const NAMED: &[(&str, &str)] = &[("nv-embedqa", r#"{"text": {{ texts|tojson }}}"#)];

/// The template of a setting, or what is wrong with it, as "... <rule>".
pub(crate) fn text(source: &str, ctx: &Context<'_>) -> Result<String, String> {
    if let Some((_, template)) = NAMED.iter().find(|(name, _)| *name == source) {
        return Ok((*template).to_owned());
    }
    if is_written_out(source) {
        return Ok(source.to_owned());
    }
    file(source, ctx)
}

/// The text of the file that a setting names; `None` if it names no readable file, or one whose text would be mistaken
/// for a name.
pub(crate) fn text_of_file(source: &str, ctx: &Context<'_>) -> Option<String> {
    let is_named = NAMED.iter().any(|(name, _)| *name == source);
    if is_named || is_written_out(source) { None } else { file(source, ctx).ok().filter(|text| is_written_out(text)) }
}

/// A template renders JSON, so it has braces, brackets or quotes; no path has.
fn is_written_out(source: &str) -> bool {
    source.contains(['{', '[', '"', '\n'])
}

fn file(source: &str, ctx: &Context<'_>) -> Result<String, String> {
    let path = expanded(source, ctx);
    if source.is_empty() || path.symlink_metadata().is_err() && !is_linked(&path, ctx.cwd) {
        return Err("is neither a file nor a template".to_owned());
    }
    if is_linked(&path, ctx.cwd) {
        return Err("is reached through a symbolic link; name the file itself".to_owned());
    }
    small_file::text(&path, small_file::SETTINGS)
}

/// With the home directory in place of `~`.
fn expanded(source: &str, ctx: &Context<'_>) -> PathBuf {
    match (source.strip_prefix('~'), ctx.env.get("HOME")) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(rest), Some(home)) if rest.starts_with('/') => Path::new(home).join(rest.trim_start_matches('/')),
        _ => ctx.cwd.join(source),
    }
}

/// Whether a component of a path is a symbolic link; below the working directory, only components below it count.
fn is_linked(path: &Path, cwd: &Path) -> bool {
    path.ancestors()
        .take_while(|ancestor| *ancestor != cwd)
        .any(|ancestor| ancestor.symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn read(source: &str, cwd: &Path, home: &Path) -> Result<String, String> {
        let env = BTreeMap::from([("HOME".to_owned(), home.to_str().unwrap().to_owned())]);
        text(source, &Context { env: &env, stdout_is_terminal: false, cwd, benchmark_id: String::new() })
    }

    #[test]
    fn a_template_is_a_name_a_file_or_itself() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::create_dir(at.join("in")).unwrap();
        std::fs::write(at.join("in/t.j2"), "{\"q\": 1}").unwrap();
        std::fs::write(at.join("bad.j2"), b"\xff").unwrap();
        std::os::unix::fs::symlink("in", at.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", at.join("dead")).unwrap();
        let of = |source: &str| read(source, at, &at.join("in"));
        assert_eq!(of("nv-embedqa").as_deref(), Ok(r#"{"text": {{ texts|tojson }}}"#));
        for named in ["in/t.j2", "~/t.j2", &at.join("in/t.j2").display().to_string()] {
            assert_eq!(of(named).as_deref(), Ok("{\"q\": 1}"), "{named}");
        }
        for itself in ["{\"a\": {{ text|tojson }}}", "[{{ text|tojson }}]", "\"x\""] {
            assert_eq!(of(itself).as_deref(), Ok(itself));
        }
        let linked = Err("is reached through a symbolic link; name the file itself".to_owned());
        assert_eq!(of("link/t.j2"), linked);
        assert_eq!(of("dead"), linked);
        assert_eq!(of("in"), Err("is not a file".into()));
        assert_eq!(of("bad.j2"), Err("is not UTF-8 text".into()));
        for nothing in ["", "t.j2", "in/none.json"] {
            assert_eq!(of(nothing), Err("is neither a file nor a template".into()), "{nothing}");
        }
    }
}
