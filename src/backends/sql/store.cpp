#include "backends/sql/store.hpp"

#include "backends/common/confirmed_evictions.hpp"
#include "backends/common/message.hpp"
#include "backends/common/record_info.hpp"
#include "backends/common/waiter_registry.hpp"
#include "backends/sql/change.hpp"
#include "backends/sql/fault_answers.hpp"
#include "backends/sql/lanes.hpp"
#include "backends/sql/listing.hpp"
#include "backends/sql/registers.hpp"
#include "backends/sql/renewals.hpp"
#include "backends/sql/request_effects.hpp"
#include "backends/sql/unused_rows.hpp"
#include "backends/sql/watches.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"
#include "engine/retry_policy.hpp"
#include "store/counters.hpp"
#include "store/server_clock.hpp"

#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {

namespace {

using namespace backend;
using backends::message;

constexpr capabilities what_we_have{.fences_per_grant = fences_per_grant, .fences_follow_time = true};

class sql_store final : public database_store,
                        public counters,
                        public linearizable_register,
                        public server_clock {
  public:
    sql_store(const backends::services& given, const assembler& assemble)
        : sql_store(given,
                    assemble({[this](std::string_view text) { on_text(text); },
                              [this](mailbox::state now, const std::string& why) { on_mailbox(now, why); },
                              [this] { on_ring(); }})) {}

    ~sql_store() override {
        reactor().run_and_wait([this] {
            ending_ = true;
            (void)reactor().cancel(clean_up_);
        });
        const auto session = own_session_();
        if (session != 0 && *speaks_.end_mailbox.sql != '\0')
            statements().run({&speaks_.end_mailbox, {parameter::of(session)}}, soon(), [](const outcome&) {});
        watches_->close();
        messages_->close();
        end_requests();
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    owner_id new_owner(kind k, std::uint32_t) override {
        // Here too a permit has an id that can be passed to others.
        if (k == kind::permit_semaphore) return owner_id{base::client_id::make().hex()};
        return owner_id{id_ + '|' + std::to_string(serials_.next())};
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (restarts_) {
            if (auto no = restarts_->refuse_request(r.lease, boot_clock::now())) return done(*std::move(no));
            done = through_quarantine(r, deadline, std::move(done));
        }
        perform(r, deadline, std::move(done));
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        // A hold may be asked for a longer ttl after its grant. What outlives a quarantine is not renewed.
        std::vector<renew_request> sent;
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (restarts_ && !restarts_->outlasts(all[i].lease)) continue;
            sent.push_back(all[i]);
            places.push_back(i);
        }
        const auto answers = std::make_shared<std::vector<renew_answer>>(all.size(), unknown{});
        renew_together(tools_, std::move(sent), deadline,
                       {[this](const renew_request& r, handler<renew_answer> one, time_point until) {
                            perform(r, until, std::move(one));
                        },
                        [answers, places = std::move(places),
                         done = counted(std::move(done))](std::vector<renew_answer> found) {
                            for (std::size_t i = 0; i < found.size(); ++i)
                                (*answers)[places[i]] = std::move(found[i]);
                            done(std::move(*answers));
                        }});
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        perform(r, deadline, std::move(done));
    }
    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        perform(r, deadline, std::move(done));
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        // A message that grants does not show which run of the server it comes from.
        const bool may_grant = !restarts_;
        auto to = std::make_shared<handler<watch_event>>(
            [may_grant, on_event = std::move(on_event)](watch_event e) {
                if (!may_grant) e.message.ticket.clear();
                on_event(std::move(e));
            });
        auto handle = backends::waiter_registry::add(waiters_, key, owner, to);
        // The messages about a lock with a queue go to its first waiter.
        const auto channel = engine::rules_of(key.of).has_queue ? std::string{} : channel_of(key.name);
        return watches_->add(channel, std::move(handle), to);
    }

    // --- for operators -----------------------------------------------------------------------------

    void inspect(const lock_name& name, holders_shown, time_point deadline,
                 handler<result<lock_info>> done) override {
        find_lock(tools_, name, deadline, counted(std::move(done)));
    }
    void list(const std::string& glob, listed, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        list_locks(tools_, glob, deadline, counted(std::move(done)));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override;
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override;
    bool hear_requests_for(const lock_name&) override {
        (void)messages_->open();
        return true;
    }
    void examine(const examine_request& r, time_point deadline, handler<result<examination>> done) override {
        database_store::examine(r, deadline,
                                [this, done = std::move(done)](result<examination> found) mutable {
                                    if (auto* const all = std::get_if<examination>(&found))
                                        add_quarantine(*all);
                                    done(std::move(found));
                                });
    }

    // --- registers ---------------------------------------------------------------------------------

    void read(std::string_view name, const register_value&, time_point deadline,
              handler<result<register_value>> done) override {
        read_register(tools_, name, deadline, counted(std::move(done)));
    }
    void change(std::string_view name, std::uint64_t expected, std::string_view text, time_point deadline,
                handler<result<register_value>> done) override {
        change_register(tools_, name, expected, text, deadline, counted(std::move(done)));
    }
    std::string_view reserved_for(const lock_name& name) const override {
        return name.str().starts_with(register_prefix) ? "the row of a register" : "";
    }

    // Another client's evict takes it.
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    // The message about a lock without a queue is for all waiters.
    bool wakes_all(kind k) const noexcept override { return !engine::rules_of(k).has_queue; }
    void abandon() noexcept override {
        database_store::abandon();
        messages_->abandon();
    }
    counters* as_counters() noexcept override { return this; }
    server_clock* as_server_clock() noexcept override { return this; }
    void read_clocks(time_point deadline, handler<result<std::vector<clock_reading>>> done) override {
        run(speaks_.clock, {}, deadline,
            [sent = boot_clock::now(), done = share(std::move(done))](const outcome& got) {
                if (const auto* const no = std::get_if<fault>(&got)) return (*done)(no->why);
                const auto& all = std::get<rows>(got);
                if (all.empty() || all.front().empty())
                    return (*done)(
                        failure{make_error_code(errc::bad_reply), "the database did not say the time", {}});
                (*done)(std::vector<clock_reading>{
                    read_between(sent, boot_clock::now(), number(all.front().front()))});
            });
    }
    linearizable_register* as_register() noexcept override { return this; }

  private:
    sql_store(const backends::services& given, parts with)
        : database_store(given.reactor, std::move(with.statements), std::move(with.examine)),
          notify_(given.notify),
          id_(given.id.base64url()),
          answer_timeout_(given.settings.answer_timeout),
          speaks_(with.speaks),
          messages_(std::move(with.messages)),
          own_session_(std::move(with.own_session)),
          restarts_(std::move(with.restarts)),
          tools_{statements(),
                 speaks_,
                 given.reactor,
                 serials_,
                 known_,
                 engine::retry_policy::remembered_for(answer_timeout_),
                 id_,
                 [this](kind of, const owner_id& owner) { return waiters_->find(of, owner) != nullptr; },
                 [this] { return hears_.load(); }},
          watches_(std::make_shared<watches>(*messages_)) {
        // There it shows who the client is.
        if (speaks_.wakes != dialect::wake::by_message) (void)messages_->open();
        reactor().run_and_wait([this] { clean_up_later(); });
    }

    struct turn {
        std::shared_ptr<const open_requests::counted> open;
        lock_name name;
        change_work work;
    };
    // Does `work` when the requests before it are done.
    void change(const lock_name& name, time_point deadline, change_work work) {
        auto mine = std::make_shared<turn>(turn{count_request(), name, std::move(work)});
        // Begins on the thread of the request before it, which must not have its exceptions.
        lanes_.enter(name, [this, deadline, mine] {
            try {
                change_record(
                    tools_, mine->name, deadline,
                    {std::move(mine->work.apply),
                     [this, mine](const fault* what, const effect& did) { end(*mine, what, did); }});
            } catch (const std::bad_alloc&) {
                const fault no{fault::effect::none, {make_error_code(errc::out_of_memory), {}, {}}};
                end(*mine, &no, {});
            }
        });
    }
    // The next request begins before the handler runs.
    void end(const turn& of, const fault* what, const effect& did) {
        lanes_.leave(of.name);
        of.work.done(what, did);
    }

    // Accepts an answer only if the server cannot have forgotten a lock. Otherwise releases a grant, and
    // leaves the queue, before it reports the refusal.
    handler<attempt_answer> through_quarantine(const attempt_request& r, time_point deadline,
                                               handler<attempt_answer> done) {
        return [this, r, deadline, done = share(std::move(done))](attempt_answer answer) {
            auto no = restarts_->refuse_answer(boot_clock::now());
            const bool may_be_ours =
                std::holds_alternative<granted>(answer) || std::holds_alternative<busy>(answer);
            if (!no || !may_be_ours) return (*done)(std::move(answer));
            release({r.key, r.owner, true}, deadline, [no = *std::move(no), done](const release_answer& a) {
                const bool clean = std::holds_alternative<released>(a) || std::holds_alternative<not_held>(a);
                if (clean) return (*done)(no);
                (*done)(unknown{no.why()});
            });
        };
    }
    void add_quarantine(examination& to) const {
        if (!restarts_ || to.servers.empty()) return;
        const auto no = restarts_->refuse_answer(boot_clock::now());
        to.findings.push_back({"quarantine",
                               no ? severity::danger : severity::ok,
                               to.servers.front().address,
                               no ? no->text : "it grants locks",
                               {},
                               {},
                               promise::live});
    }

    template <class Request>
    void perform(const Request& request, time_point deadline, handler<answer_to<Request>> done) {
        auto answer = std::make_shared<std::optional<answer_to<Request>>>();
        change(request.key.name, deadline,
               {[request, answer, wakes = speaks_.wakes](engine::lock_record& r,
                                                         const engine::circumstances& c) {
                    auto did = apply_to(r, c, request, *answer);
                    ask_again_soon(wakes, r, request, c.now, **answer);
                    return did;
                },
                [this, answer, name = request.key.name, done = share(std::move(done))](const fault* what,
                                                                                       const effect& did) {
                    if (what != nullptr) return (*done)(failed<answer_to<Request>>(*what));
                    try {
                        hand_over(name, did.notify);
                        if (did.notify.all)
                            return tell_all(name, did.notify.but, [answer, done](std::uint32_t listeners) {
                                if constexpr (std::is_same_v<answer_to<Request>, release_answer>) {
                                    if (auto* const yes = std::get_if<released>(&**answer))
                                        yes->listeners = listeners;
                                }
                                (*done)(*std::move(*answer));
                            });
                    } catch (const std::bad_alloc&) {  // a message that is not sent costs a poll gap
                    }
                    (*done)(*std::move(*answer));
                }});
    }

    // Reactor thread. Clients that start together do not clean up together.
    void clean_up_later() {
        if (ending_) return;
        constexpr std::chrono::hours often{1};
        const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(often) / 2 +
                           std::chrono::nanoseconds{static_cast<std::int64_t>(
                               base::jitter() * std::chrono::duration<double, std::nano>{often}.count())};
        clean_up_ = reactor().at(boot_clock::now() + pause, [this] {
            remove_unused_rows(tools_, soon(), [this, open = count_request()](std::size_t) {
                reactor().post([this, open] { clean_up_later(); });
            });
        });
    }

    // --- messages ----------------------------------------------------------------------------------

    [[nodiscard]] time_point soon() const { return boot_clock::now() + answer_timeout_; }

    void send(const std::vector<letter>& all, std::function<void(bool)> sent) {
        if (speaks_.wakes == dialect::wake::by_polling) {
            if (sent) sent(false);
            return;
        }
        std::vector<std::string> to;
        std::vector<std::string> texts;
        for (const auto& one : all) {
            to.push_back("holdfast_" + one.to);
            texts.push_back(base::to_hex(one.text));
        }
        run(speaks_.send,
            {parameter::text(speaks_.list_of_texts(to)), parameter::text(speaks_.list_of_texts(texts))},
            soon(), [sent = std::move(sent)](const outcome& result) {
                if (sent) sent(std::holds_alternative<rows>(result));
            });
    }
    void hand_over(const lock_name& name, const engine::messages& what) {
        std::vector<letter> all;
        for (const auto& to : what.handed) {
            const message m{message::what::handed_over, name.str(), to.of, to.owner, to.ticket, {}};
            const auto client = client_in(to.owner);
            if (client == id_)
                on_message(m);
            else
                all.push_back({client, to_text(m)});
        }
        if (!all.empty()) send(all, {});
    }
    void tell_all(const lock_name& name, const owner_id& but, std::function<void(std::uint32_t)> told) {
        const message m{.is = message::what::free, .name = name.str(), .owner = but};
        on_message(m);  // our own waiters
        if (speaks_.wakes != dialect::wake::by_message) return told(0);
        const auto channel = channel_of(name);
        run(speaks_.send_to_all,
            {parameter::text(channel), parameter::text(base::to_hex(to_text(m))),
             parameter::of(number_of(channel)), parameter::of(own_session_())},
            soon(), [told = std::move(told)](const outcome& result) {
                const auto* const found = std::get_if<rows>(&result);
                const bool has_number = found != nullptr && !found->empty() && !found->front().empty();
                told(has_number ? static_cast<std::uint32_t>(number(found->front()[0])) : 0);
            });
    }

    void on_text(std::string_view hex) {
        if (const auto m = backends::message_of(base::from_hex(hex))) on_message(*m);
    }
    void on_message(const message& m) {
        switch (m.is) {
            case message::what::handed_over: return on_handed_over(m);
            case message::what::free:
                for (const auto& waiter : waiters_->all_of(lock_name{m.name}, m.owner))
                    (*waiter)({watch_event::change::woken, {}});
                return;
            case message::what::evict:
                return notify_({.what = notice::change::evicted, .owner = m.owner, .confirm = [this, m] {
                                    const message yes{message::what::gave_up, m.name, m.of, m.owner, {}, {}};
                                    send({{m.asker, to_text(yes)}}, {});
                                }});
            case message::what::gave_up: return evictions_.confirm(m.owner.str());
            case message::what::drop:
            case message::what::dropped: return;  // a record is changed without its client
        }
    }
    void on_handed_over(const message& m) {
        if (const auto waiter = waiters_->find(m.of, m.owner))
            return (*waiter)({watch_event::change::woken, {m.ticket}});
        // Its waiter gave up while the message was on its way.
        release({{m.of, lock_name{m.name}}, m.owner, true}, soon(), [](const release_answer&) {});
    }
    void on_ring() {
        for (const auto& waiter : waiters_->all()) (*waiter)({watch_event::change::woken, {}});
    }
    void on_mailbox(mailbox::state now, const std::string& why) {
        hears_ = now == mailbox::state::open;
        if (now == mailbox::state::refused)
            notify_({notice::change::no_channel_right, "waiters have to poll: " + why, {}});
        watches_->on_mailbox(now);
    }

    const std::function<void(const notice&)> notify_;
    const std::string id_;
    const milliseconds answer_timeout_;
    const dialect& speaks_;
    const std::unique_ptr<mailbox> messages_;
    const std::function<std::int64_t()> own_session_;
    const std::shared_ptr<const quarantine> restarts_;
    backends::owner_serials serials_;
    knowledge known_{versions{number_of(id_)}};
    backends::confirmed_evictions evictions_;
    const std::shared_ptr<backends::waiter_registry> waiters_ = std::make_shared<backends::waiter_registry>();
    lanes lanes_;
    std::atomic<bool> hears_{false};  // messages of other clients
    // Reactor thread.
    io::timer_id clean_up_{};
    bool ending_ = false;

    const change_tools tools_;
    const std::shared_ptr<watches> watches_;
};

void sql_store::evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
                      handler<result<std::vector<evicted>>> done) {
    auto taken = std::make_shared<std::vector<evicted>>();
    change(name, deadline,
           {[name, owners, taken](engine::lock_record& r, const engine::circumstances& c) {
                taken->clear();
                effect all;
                for (const auto& one : backends::evictions_of(name, r, owners, c.now)) {
                    std::optional<release_answer> answer;
                    auto did = apply_to(r, c, one.request, answer);
                    if (!std::holds_alternative<released>(*answer)) continue;
                    taken->push_back({one.request.owner.str(), one.left});
                    std::move(did.notify.handed.begin(), did.notify.handed.end(),
                              std::back_inserter(all.notify.handed));
                    all.notify.all = all.notify.all || did.notify.all;
                }
                return all;
            },
            [this, name, taken, done = share(std::move(done))](const fault* what, const effect& did) {
                if (what != nullptr) return (*done)(what->why);
                hand_over(name, did.notify);
                if (did.notify.all) tell_all(name, {}, [](std::uint32_t) {});
                (*done)(std::move(*taken));
            }});
}

void sql_store::ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                               handler<result<asked>> done) {
    // A confirmation that comes before this client can receive it would be lost.
    const bool hears = messages_->open() == mailbox::state::open;
    const auto shared = share(std::move(done));
    load_lock(tools_, name, {number_of(of.ask_at)}, deadline,
              [this, open = count_request(), name, of, hears, shared](std::variant<loaded, fault> found) {
                  asked answer;
                  if (const auto* const no = std::get_if<fault>(&found)) return (*shared)(no->why);
                  const auto& lock = std::get<loaded>(found);
                  answer.left = backends::left_of(lock.record, of.owner, lock.now);
                  answer.holds = answer.left.has_value();
                  const owner_id owner{of.owner};
                  const bool asks = answer.holds && hears && !of.ask_at.empty() &&
                                    !lock.gone.contains(number_of(of.ask_at));
                  if (asks) evictions_.expect(of.owner);
                  answer.gave_up = evictions_.is_confirmed(of.owner);
                  if (!asks) return (*shared)(answer);
                  const message m{message::what::evict, name.str(), kind::native, owner, {}, id_};
                  send({{of.ask_at, to_text(m)}}, [answer, shared](bool sent) mutable {
                      answer.listeners = sent ? 1 : 0;
                      (*shared)(answer);
                  });
              });
}

}  // namespace

std::unique_ptr<store> open(const backends::services& given, const assembler& assemble) {
    return std::make_unique<sql_store>(given, assemble);
}

}  // namespace holdfast::sql_backend
