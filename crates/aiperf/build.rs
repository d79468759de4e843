//! Writes the manual page, from the same table of options that the command reads. Packagers find it as `aiperf.1` in
//! the build's output folder; `aiperf man` prints it.

fn main() -> std::io::Result<()> {
    let out = std::env::var_os("OUT_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    std::fs::write(std::path::Path::new(&out).join("aiperf.1"), aiperf_config::man_page(&version))?;
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
