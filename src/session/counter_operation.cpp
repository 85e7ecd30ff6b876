#include "session/counter_operation.hpp"

#include "session/blocking_call.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace holdfast::session {

namespace {

using namespace backend;

unknown no_answer() { return {{make_error_code(errc::unknown_outcome), {}}}; }

// The sends of one request and their answers.
class attempts {
  public:
    explicit attempts(milliseconds answer_timeout) : retry_(answer_timeout) {}

    [[nodiscard]] time_point on_sent(time_point now) { return retry_.on_sent(now); }
    // When to resend it; empty: `answer` is final.
    [[nodiscard]] std::optional<time_point> judge(adjust_answer& answer, time_point now) {
        if (std::holds_alternative<adjusted>(answer)) return std::nullopt;
        auto* no = std::get_if<refused>(&answer);
        uncertain_ = uncertain_ || no == nullptr;
        if (no == nullptr || no->code == condition::try_later) {
            if (const auto at = retry_.next_send(now)) return at;
        }
        // An earlier send may have done what this send was refused.
        if (no != nullptr && uncertain_) {
            unknown u{std::move(*no)};
            u.code = errc::unknown_outcome;
            answer = std::move(u);
        }
        return std::nullopt;
    }

  private:
    engine::retry_policy retry_;
    bool uncertain_ = false;
};

// Keeps itself alive until it has called `done`.
class counter_operation : public std::enable_shared_from_this<counter_operation> {
  public:
    counter_operation(std::shared_ptr<client_state> c, adjust_request what,
                      callback<void(adjust_answer)> done)
        : client_(std::move(c)),
          what_(std::move(what)),
          done_(std::move(done)),
          attempts_(client_->settings.answer_timeout) {
        client_->begin_pending();
    }
    counter_operation(const counter_operation&) = delete;
    counter_operation& operator=(const counter_operation&) = delete;
    ~counter_operation() {
        if (done_) finish(no_answer());
    }

    void send() {
        if (!client_->has_store()) return;
        const auto now = boot_clock::now();
        client_->store().as_counters()->adjust(
            what_, client_->send_by(now, attempts_.on_sent(now)),
            [me = shared_from_this()](adjust_answer a) { me->on_answer(std::move(a)); });
    }

  private:
    void on_answer(adjust_answer a) {
        if (const auto at = attempts_.judge(a, boot_clock::now())) {
            if (client_->has_store()) client_->reactor().at(*at, [me = shared_from_this()] { me->send(); });
            return;
        }
        finish(std::move(a));
    }
    void finish(adjust_answer a) {
        client_->end_pending();
        std::exchange(done_, nullptr)(std::move(a));
    }

    const std::shared_ptr<client_state> client_;
    const adjust_request what_;
    callback<void(adjust_answer)> done_;
    attempts attempts_;
};

std::optional<failure> objection_to(const client_state& c, const lock_key& key) {
    if (auto no = client_state::objection_to(key, c.store())) return no;
    if (c.store().as_counters() != nullptr) return std::nullopt;
    return failure{errc::invalid_argument, "this store has no counters"};
}

}  // namespace

adjust_answer adjust(client_state& c, const adjust_request& what) {
    const client_state::call here(c);
    if (auto no = objection_to(c, what.key)) return refused{*std::move(no)};
    attempts tries(c.settings.answer_timeout);
    for (;;) {
        const auto now = boot_clock::now();
        const auto until = tries.on_sent(now);
        auto answer = blocking_call<adjust_answer>(c, until, [&](auto handler) {
                          c.store().as_counters()->adjust(what, c.send_by(now, until), std::move(handler));
                      }).value_or(no_answer());
        const auto at = tries.judge(answer, boot_clock::now());
        if (!at || !pause(c, *at)) return answer;
    }
}

void adjust_later(const std::shared_ptr<client_state>& c, adjust_request what,
                  callback<void(adjust_answer)> done) {
    const client_state::call here(*c);
    if (!c->usable()) return done(refused{{make_error_code(c->forked() ? errc::forked : errc::closed), {}}});
    if (auto no = objection_to(*c, what.key)) return done(refused{*std::move(no)});
    auto a = std::make_shared<counter_operation>(c, std::move(what), std::move(done));
    c->reactor().post([a = std::move(a)] { a->send(); });
}

}  // namespace holdfast::session
