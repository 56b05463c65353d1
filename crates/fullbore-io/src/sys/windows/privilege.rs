//! Privileges of the process's user, which have to be enabled.

use windows_sys::Win32::Foundation as w;
use windows_sys::Win32::Security as security;
use windows_sys::Win32::System::Threading::{GetCurrentThread, OpenThreadToken};

use super::code::check;
use super::handle::{Handle, owned, raw};
use crate::sys::code::{Code, Result};

const RIGHTS: security::TOKEN_ACCESS_MASK = security::TOKEN_ADJUST_PRIVILEGES | security::TOKEN_QUERY;

/// Makes a call with a privilege that only this thread has, and only meanwhile: the files that other threads open meanwhile keep their
/// protection. Fails in a thread that already acts for another user, whose identity would be lost.
pub(super) fn with_privilege<T>(name: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
    /// Takes the thread's own token back.
    struct Impersonation;
    impl Drop for Impersonation {
        fn drop(&mut self) {
            // SAFETY: a call without arguments.
            let reverted = unsafe { security::RevertToSelf() };
            assert!(reverted != 0, "the thread keeps a privilege: {}", Code::last().number());
        }
    }
    if token_of_thread(security::TOKEN_QUERY).is_ok() {
        return Err(Code::NOT_PERMITTED);
    }
    // SAFETY: a call with a number.
    check(unsafe { security::ImpersonateSelf(security::SecurityImpersonation) })?;
    let _impersonation = Impersonation;
    enable(&token_of_thread(RIGHTS)?, name)?;
    call()
}

/// Opens the token of a thread that impersonates, with the rights of the process; an error for other threads.
fn token_of_thread(rights: security::TOKEN_ACCESS_MASK) -> Result<Handle> {
    let mut token = std::ptr::null_mut();
    // SAFETY: the call writes the handle.
    check(unsafe { OpenThreadToken(GetCurrentThread(), rights, 1, &raw mut token) })?;
    // SAFETY: the call succeeded, so the handle is open and nobody else has it.
    unsafe { owned(token) }
}

/// Enables a privilege in a token; an error if its user does not have it.
fn enable(token: &Handle, name: &str) -> Result<()> {
    let name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let mut wanted = security::TOKEN_PRIVILEGES { PrivilegeCount: 1, ..Default::default() };
    wanted.Privileges[0].Attributes = security::SE_PRIVILEGE_ENABLED;
    let luid = &raw mut wanted.Privileges[0].Luid;
    // SAFETY: the name ends with a zero; the calls write the number and read the structure, which live through them.
    unsafe {
        check(security::LookupPrivilegeValueW(std::ptr::null(), name.as_ptr(), luid))?;
        let nothing = std::ptr::null_mut();
        check(security::AdjustTokenPrivileges(
            raw(token) as _,
            0,
            &raw const wanted,
            0,
            nothing,
            nothing.cast(),
        ))?;
    }
    // The call succeeds without the privilege, too.
    match Code::last_number() {
        w::ERROR_NOT_ALL_ASSIGNED => Err(Code::NOT_PERMITTED),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_privilege_is_enabled_or_refused_and_the_thread_keeps_its_identity() {
        // Every user has this one.
        assert_eq!(with_privilege("SeChangeNotifyPrivilege", || Ok(1)), Ok(1));
        assert!(with_privilege("SeNoSuchPrivilege", || Ok(1)).is_err());
        assert!(token_of_thread(RIGHTS).is_err());
        let nested = with_privilege("SeChangeNotifyPrivilege", || {
            let refused = with_privilege("SeChangeNotifyPrivilege", || Ok(1));
            assert!(token_of_thread(RIGHTS).is_ok());
            Ok(refused)
        });
        assert_eq!(nested, Ok(Err(Code::NOT_PERMITTED)));
    }
}
