// Errors, grouped by what a caller can do about them.
#pragma once

#include <holdfast/export.hpp>

#include <string>
#include <system_error>

namespace holdfast {

enum class errc {
    // The program or the setup is wrong; trying again will not help.
    invalid_argument = 1,  // a name, duration, option or URL that cannot be used; the message names it
    would_deadlock,        // this thread already holds the non-recursive lock it asks for
    not_owner,             // released by a thread or lease that does not hold it
    wrong_kind,            // the key holds something else: another kind of lock, or no lock at all
    no_permission,         // the store refused our credentials or rights
    forked,                // this client belongs to the parent process; make a new one after fork()
    closed,                // the client is being destroyed

    // The store did not carry out the request, and nothing changed; a later try may succeed.
    unavailable,     // no connection, or no answer to a request that was never sent
    out_of_memory,   // the store has no memory left for a new lock, or this process none for the request
    busy_server,     // the store answers, but cannot serve now: LOADING, BUSY, MISCONF, READONLY
    not_replicated,  // too few replicas have the grant (replication.hpp); the grant is being undone
    too_weak,        // only a grant weaker than acquire_options::at_least could be had (policy.hpp)
    quarantined,     // servers were started or promoted so recently that they may have forgotten locks

    // The request may or may not have been carried out; it is being undone and expires by itself.
    unknown_outcome,

    // The lock is not held any longer, or was not acquired.
    lost,             // the lease ended before it was released
    lease_too_short,  // the grant came so late that no time of the lease is left
    timed_out,        // another owner held the lock for the whole wait
    cancelled,        // the caller's stop token asked to stop waiting

    bad_reply,  // the store answered something that its protocol does not allow
};

// What a caller can do: `if (ec == condition::try_later)`.
enum class condition {
    misuse = 1,  // fix the program or the configuration
    try_later,   // nothing was changed; the store may work again later
    not_held,    // do not touch what the lock protects
    unknown,     // wait out one lease, then try again
};

[[nodiscard]] HOLDFAST_API const std::error_category& category() noexcept;
[[nodiscard]] HOLDFAST_API const std::error_category& condition_category() noexcept;
[[nodiscard]] HOLDFAST_API std::error_code make_error_code(errc e) noexcept;
[[nodiscard]] HOLDFAST_API std::error_condition make_error_condition(condition c) noexcept;

// An error code with a sentence for people. The text that the server sent is kept apart, because others wrote
// it.
class HOLDFAST_API error : public std::system_error {
  public:
    error(std::error_code code, const std::string& sentence, const std::string& server_text = {});

    // The sentence alone, with the lock's name and the likely cause; code().message() if it is empty.
    [[nodiscard]] const char* what() const noexcept override;

    // The server's own text, escaped for printing; empty if no server answered.
    [[nodiscard]] const std::string& server_text() const noexcept { return server_text_; }

  private:
    std::string sentence_;
    std::string server_text_;
};

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
template <>
struct std::is_error_condition_enum<holdfast::condition> : std::true_type {};
