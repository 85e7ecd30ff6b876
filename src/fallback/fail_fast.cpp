#include "fallback/fail_fast.hpp"

#include "fallback/breakers.hpp"

#include <utility>

namespace holdfast::fallback {

using namespace backend;

namespace {

class fail_fast_store final : public fail_fast {
  public:
    fail_fast_store(store& main, std::shared_ptr<const wish> wished, std::shared_ptr<breakers> of_client,
                    milliseconds answer_timeout)
        : fail_fast(main),
          wished_(std::move(wished)),
          answer_timeout_(answer_timeout),
          breakers_(std::move(of_client)) {}

    // Those that wait find out for the others when the store is back.
    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const auto server = to().server_of(r.key);
        const bool forced = wished_->breaker() == forced_breaker::open;
        if ((forced || !r.waits) && !breakers_->permits(server, boot_clock::now()))
            return done(
                refused{{make_error_code(errc::unavailable),
                         forced ? "config::switch_source keeps the breaker open"
                                : "the store has failed several times in a row, so this client asks it "
                                  "only now and then"}});
        // Without an answer, a request that had little time says nothing about the store.
        const bool had_time = deadline - boot_clock::now() >= answer_timeout_ / 2;
        to().attempt(r, deadline,
                     [b = breakers_, server, had_time, done = std::move(done)](attempt_answer got) mutable {
                         if (had_time || !is_outage(got) || !std::holds_alternative<unknown>(got))
                             b->report(server, got, boot_clock::now());
                         done(std::move(got));
                     });
    }
    void main_is_up() override { breakers_->hurry(boot_clock::now()); }
    // The client's own store does all that.
    void leave_by(time_point) noexcept override {}
    void abandon() noexcept override {}

  private:
    const std::shared_ptr<const wish> wished_;
    const milliseconds answer_timeout_;
    const std::shared_ptr<breakers> breakers_;
};

}  // namespace

std::unique_ptr<fail_fast> open_fail_fast(store& main, std::shared_ptr<const wish> wished,
                                          std::shared_ptr<breakers> of_client, milliseconds answer_timeout) {
    return std::make_unique<fail_fast_store>(main, std::move(wished), std::move(of_client), answer_timeout);
}

}  // namespace holdfast::fallback
