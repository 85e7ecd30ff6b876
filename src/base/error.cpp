#include "base/never_destroyed.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

namespace holdfast {

namespace {

class holdfast_category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "holdfast"; }

    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::invalid_argument: return "an argument cannot be used";
            case errc::would_deadlock: return "this thread already holds the lock";
            case errc::not_owner: return "the lock is not held by the caller";
            case errc::wrong_kind: return "the key holds something of another kind";
            case errc::no_permission: return "the store refused our credentials or rights";
            case errc::forked: return "the client belongs to the parent process";
            case errc::closed: return "the client is being closed";
            case errc::unavailable: return "the store cannot be reached";
            case errc::out_of_memory: return "the store has no memory left";
            case errc::busy_server: return "the store cannot carry out the request now";
            case errc::not_replicated: return "too few replicas have the grant";
            case errc::too_weak: return "the lock could only be granted with less strength than asked for";
            case errc::quarantined: return "the store may have forgotten locks and grants none for now";
            case errc::unknown_outcome:
                return "the store did not answer; the request may have been carried out";
            case errc::lost: return "the lease ended before it was released";
            case errc::lease_too_short: return "the lock was granted too late to leave any time of the lease";
            case errc::timed_out: return "another owner held the lock for the whole wait";
            case errc::cancelled: return "the wait was cancelled";
            case errc::bad_reply: return "the store answered something that its protocol does not allow";
        }
        return "unknown error " + std::to_string(value);
    }

    std::error_condition default_error_condition(int value) const noexcept override {
        switch (static_cast<errc>(value)) {
            case errc::invalid_argument:
            case errc::would_deadlock:
            case errc::not_owner:
            case errc::wrong_kind:
            case errc::no_permission:
            case errc::forked:
            case errc::closed: return condition::misuse;
            case errc::unavailable:
            case errc::out_of_memory:
            case errc::busy_server:
            case errc::not_replicated:
            case errc::too_weak:
            case errc::quarantined: return condition::try_later;
            case errc::unknown_outcome:
            case errc::bad_reply: return condition::unknown;
            case errc::lost:
            case errc::lease_too_short:
            case errc::timed_out:
            case errc::cancelled: return condition::not_held;
        }
        return {value, *this};
    }
};

class holdfast_conditions final : public std::error_category {
  public:
    const char* name() const noexcept override { return "holdfast.condition"; }

    std::string message(int value) const override {
        switch (static_cast<condition>(value)) {
            case condition::misuse: return "mend the program or the configuration";
            case condition::try_later: return "nothing was changed; try again later";
            case condition::not_held: return "the lock is not held";
            case condition::unknown: return "the request may have been carried out; wait for one lease";
        }
        return "unknown condition " + std::to_string(value);
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const base::never_destroyed<holdfast_category> one;
    return one.it;
}

const std::error_category& condition_category() noexcept {
    static const base::never_destroyed<holdfast_conditions> one;
    return one.it;
}

std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), category()}; }
std::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

error::error(std::error_code code, const std::string& sentence, const std::string& server_text)
    : std::system_error(code), sentence_(sentence), server_text_(base::printable(server_text)) {}

const char* error::what() const noexcept {
    return sentence_.empty() ? std::system_error::what() : sentence_.c_str();
}

}  // namespace holdfast
