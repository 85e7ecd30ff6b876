// One release, decided without I/O: send it, and resend it while there is no answer and time is left.
#pragma once

#include "engine/retry_policy.hpp"
#include "store/requests.hpp"

#include <holdfast/lease.hpp>

#include <variant>

namespace holdfast::engine {

struct release_settings {
    time_point believed_until;  // deadline of the lease at the first send of the release
    milliseconds answer_timeout{2'000};
};

struct send_release {  // wait for its answer, until `until`
    time_point until;
};
struct retry_release {  // wait until `at`
    time_point at;
};
struct release_done {
    release_result result;     // for unknown_until, the session fills in the time
    backend::released answer;  // with released
    backend::failure reason;   // with unknown_until
};
using release_action = std::variant<send_release, retry_release, release_done>;

class release {
  public:
    explicit release(const release_settings& how) : how_(how), retry_(how.answer_timeout) {}

    [[nodiscard]] release_action begin(time_point now);
    [[nodiscard]] release_action on_answer(const backend::release_answer& answer, time_point now);
    [[nodiscard]] release_action on_elapsed(time_point now);

  private:
    release_action no_answer(const backend::failure& why, time_point now);

    const release_settings how_;
    retry_policy retry_;
    bool uncertain_ = false;  // an earlier send may have been carried out
    backend::failure last_{make_error_code(errc::unknown_outcome), {}};
};

}  // namespace holdfast::engine
