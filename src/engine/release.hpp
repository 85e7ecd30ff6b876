// Giving a lease back, decided without I/O: send, and send again while nobody answers and there is time.
#pragma once

#include "engine/resend.hpp"
#include "store/requests.hpp"

#include <holdfast/lease.hpp>

#include <variant>

namespace holdfast::engine {

struct release_settings {
    time_point believed_until;  // deadline of the lease when it was first released
    milliseconds answer_timeout{2'000};
};

struct send_release {  // its answer, or nothing until `until`
    time_point until;
};
struct retry_release {  // nothing to do until `at`
    time_point at;
};
struct release_done {
    release_result result;    // of unknown_until, the session knows until when
    backend::released told;   // with released
    backend::failure reason;  // with unknown_until
};
using release_action = std::variant<send_release, retry_release, release_done>;

class release {
  public:
    explicit release(const release_settings& how) : how_(how), sends_(how.answer_timeout) {}

    [[nodiscard]] release_action begin(time_point now);
    [[nodiscard]] release_action on_answer(const backend::release_answer& answer, time_point now);
    [[nodiscard]] release_action on_elapsed(time_point now);

  private:
    release_action no_answer(const backend::failure& why, time_point now);

    const release_settings how_;
    resend sends_;
    bool uncertain_ = false;  // an earlier send may have been carried out
    backend::failure last_{make_error_code(errc::unknown_outcome), {}};
};

}  // namespace holdfast::engine
