//! Certificates that the user trusts. An unusable file is found before anything is sent.

use aiperf_plan::Plan;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The variable that names the file; messages contain it.
const VARIABLE: &str = "SSL_CERT_FILE";

/// Larger than all certificate authorities in PEM. The limit is for devices: reading one would never end.
const LARGEST: u64 = 64 << 20;

/// A file of certificates that cannot be used.
#[derive(Debug, Error)]
#[error("{VARIABLE}={} {fault}\n  servers of https:// URLs are trusted by the certificates in it\n  try: a file in PEM, or unset {VARIABLE} to trust the system's", path.display())]
pub struct CertificatesError {
    path: PathBuf,
    fault: String,
}

/// Rejects a file of certificates that the run needs and cannot use.
pub(crate) fn check(plan: &Plan) -> Result<(), CertificatesError> {
    let http = &plan.endpoint.http;
    let is_tls = plan.endpoint.urls.iter().any(|url| url.is_tls());
    match &http.ca_file {
        Some(path) if is_tls && http.verify_certificates => {
            fault(path).map_or(Ok(()), |fault| Err(CertificatesError { path: path.clone(), fault }))
        }
        _ => Ok(()),
    }
}

/// Why a file of certificates cannot be used.
pub(crate) fn fault(path: &Path) -> Option<String> {
    let text = match text(path) {
        Ok(text) => text,
        Err(fault) => return Some(fault),
    };
    let body = text.split_once("-----BEGIN CERTIFICATE-----").map(|(_, rest)| rest);
    let is_whole = body.is_some_and(|rest| rest.contains("-----END CERTIFICATE-----"));
    (!is_whole).then(|| "holds no certificate in PEM".to_owned())
}

/// Why a file cannot even be read.
pub(crate) fn unreadable(path: &Path) -> Option<String> {
    text(path).err()
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    match fs::metadata(path) {
        // The check comes before the open: opening a pipe already blocks.
        Ok(found) if !found.is_file() => return Err("is not a file".to_owned()),
        Err(error) => return Err(format!("cannot be read: {error}")),
        Ok(_) => {}
    }
    if let Err(error) = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes)) {
        return Err(format!("cannot be read: {error}"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_file_of_certificates_has_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let whole = "# mine\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(fault(&file("good.pem", whole)), None);
        for text in ["", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n", &whole[..40]] {
            assert_eq!(fault(&file("bad.pem", text)).as_deref(), Some("holds no certificate in PEM"), "{text}");
        }
        assert_eq!(fault(dir.path()).as_deref(), Some("is not a file"));
        assert!(fault(&dir.path().join("missing")).unwrap().starts_with("cannot be read: "));
    }

    #[test]
    fn the_message_names_variable_and_path() {
        let error = CertificatesError { path: "/ca.pem".into(), fault: "is not a file".into() };
        assert_eq!(
            error.to_string(),
            "SSL_CERT_FILE=/ca.pem is not a file\n  servers of https:// URLs are trusted by the certificates in it\n  \
             try: a file in PEM, or unset SSL_CERT_FILE to trust the system's"
        );
    }
}
