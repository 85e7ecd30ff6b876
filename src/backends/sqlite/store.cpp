#include "backends/sqlite/store.hpp"

#include "backends/common/confirmed_evictions.hpp"
#include "backends/common/fence_clock.hpp"
#include "backends/common/host.hpp"
#include "backends/common/local_file_system.hpp"
#include "backends/common/mailbox.hpp"
#include "backends/common/own_clock.hpp"
#include "backends/common/owner_serials.hpp"
#include "backends/common/record_info.hpp"
#include "backends/common/waiter_registry.hpp"
#include "backends/common/work_queue.hpp"
#include "backends/sqlite/error_answers.hpp"
#include "backends/sqlite/examine.hpp"
#include "backends/sqlite/records.hpp"
#include "backends/sqlite/registers.hpp"
#include "backends/sqlite/url.hpp"
#include "base/clock.hpp"
#include "base/parker.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"
#include "engine/retry_policy.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/linearizable_register.hpp"
#include "store/server_clock.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::sqlite_backend {

namespace {

using namespace backend;
using backends::mailbox;
using backends::message;
using backends::wake_socket;
using backends::work_queue;
using engine::store_time;

constexpr std::uint32_t fences_per_grant = 16;  // the grant itself has the first
constexpr capabilities what_we_have{.guarantee = strength::host_local,
                                    .counted_by = lease_clock::of_this_host,
                                    .fences_per_grant = fences_per_grant,
                                    .fences_follow_time = true};

store_time clock_now() { return store_time{boot_clock::now().time_since_epoch()}; }

// The client in an owner: the part before '|'. Empty: the owner does not show it.
std::string client_in(const owner_id& owner) {
    const auto bar = owner.str().find('|');
    return bar == std::string::npos ? std::string{} : owner.str().substr(0, bar);
}

// A message that is sent once the record is saved.
struct outgoing {
    std::string to;
    message what;
};
using mail = std::vector<outgoing>;

// What a client has written of itself, and need not write again.
struct rows_of_a_client {
    bool introduced = false;
    std::set<lock_name> listening{};

    void merge(rows_of_a_client& more) {
        introduced = introduced || more.introduced;
        listening.merge(more.listening);
    }
};

template <class Request>
using answer_to = decltype(engine::apply(std::declval<engine::lock_record&>(), std::declval<const Request&>(),
                                         std::declval<const engine::circumstances&>())
                               .answer);

class sqlite_store final : public store,
                           public counters,
                           public inspection,
                           public linearizable_register,
                           public server_clock {
  public:
    sqlite_store(const backends::services& given, const url& where)
        : notify_(given.notify),
          id_(given.id.base64url()),
          boot_(backends::boot_id()),
          answer_timeout_(given.settings.answer_timeout),
          path_(where.path),
          mailbox_(given.reactor, where.path + "-wake", id_, [this](const message& m) { on_message(m); }),
          work_(given.reactor),
          records_(
              std::make_unique<records>(where.path, boot_, boot_clock::now() + std::chrono::seconds{5})) {}

    ~sqlite_store() override {
        mailbox_.close();
        work_.close();
        try {
            const base::guard lock(mutex_);
            leave();
        } catch (const std::exception&) {  // the next client that opens the file removes us
        }
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic statistics() const noexcept override { return {requests_.load(std::memory_order_relaxed), {}}; }
    owner_id new_owner(kind k, std::uint32_t) override {
        // Here too a permit has an id that can be passed to others.
        if (k == kind::permit_semaphore) return owner_id{base::client_id::make().hex()};
        return owner_id{id_ + '|' + std::to_string(serials_.next())};
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        perform<attempt_answer>(deadline, std::move(done),
                                [this, r](mail& out) REQUIRES(mutex_) { return apply(r.key.name, r, out); });
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        perform<std::vector<renew_answer>>(
            deadline, std::move(done),
            [this, all = std::vector(all.begin(), all.end())](mail& out) REQUIRES(mutex_) {
                std::vector<renew_answer> answers;
                answers.reserve(all.size());
                for (const auto& r : all) answers.push_back(apply(r.key.name, r, out));
                return answers;
            },
            [n = all.size()](const database_error& e) { return std::vector(n, failed<renew_answer>(e)); });
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        perform<release_answer>(deadline, std::move(done),
                                [this, r](mail& out) REQUIRES(mutex_) { return apply(r.key.name, r, out); });
    }
    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        perform<adjust_answer>(deadline, std::move(done),
                               [this, r](mail& out) REQUIRES(mutex_) { return apply(r.key.name, r, out); });
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override;
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }

    // --- for operators -----------------------------------------------------------------------------

    void inspect(const lock_name& name, holders_shown, time_point deadline,
                 handler<result<lock_info>> done) override {
        perform<result<lock_info>, access::read>(
            deadline, std::move(done), [this, name](mail&) REQUIRES(mutex_) -> result<lock_info> {
                const auto found = records_->load(name);
                if (found.bytes.empty()) return lock_info{name, "free", false, {}, {}, {}, {}, {}};
                return describe(name, found.record);
            });
    }
    void list(const std::string& glob, listed, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        perform<result<std::vector<lock_info>>, access::read>(
            deadline, std::move(done),
            [this, glob](mail&) REQUIRES(mutex_) -> result<std::vector<lock_info>> {
                std::vector<lock_info> all;
                records_->scan(glob.substr(0, glob.find_first_of("*?")),
                               [&](const lock_name& name, const engine::lock_record& r) REQUIRES(mutex_) {
                                   if (!base::glob_match(glob, name.str())) return;
                                   auto info = describe(name, r);
                                   if (!info.holders.empty()) all.push_back(std::move(info));
                               });
                return all;
            });
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override;
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        perform<result<std::vector<evicted>>>(
            deadline, std::move(done),
            [this, name, owners](mail& out) REQUIRES(mutex_) -> result<std::vector<evicted>> {
                std::vector<evicted> taken;
                const auto found = records_->load(name);
                for (const auto& one : backends::evictions_of(name, found.record, owners, clock_now())) {
                    const auto answer = apply(name, one.request, out);
                    if (std::holds_alternative<released>(answer))
                        taken.push_back({one.request.owner.str(), one.left});
                }
                return taken;
            });
    }
    // A waiter whose process is gone is skipped as soon as the lock is free.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    bool hear_requests_for(const lock_name&) override { return mailbox_.open().empty(); }
    void examine(const examine_request&, time_point deadline, handler<result<examination>> done) override {
        perform<result<examination>, access::read>(deadline, std::move(done),
                                                   [this](mail&) REQUIRES(mutex_) -> result<examination> {
                                                       return sqlite_backend::examine(records_->file());
                                                   });
    }

    // --- registers ---------------------------------------------------------------------------------

    void read(std::string_view name, const register_value&, time_point deadline,
              handler<result<register_value>> done) override {
        perform<result<register_value>, access::read>(
            deadline, std::move(done),
            [this, name = std::string{name}](mail&)
                REQUIRES(mutex_) -> result<register_value> { return read_register(records_->file(), name); });
    }
    void change(std::string_view name, std::uint64_t expected, std::string_view text, time_point deadline,
                handler<result<register_value>> done) override {
        perform<result<register_value>>(
            deadline, std::move(done),
            [this, name = std::string{name}, expected, text = std::string{text}](mail&)
                REQUIRES(mutex_) -> result<register_value> {
                    return change_register(records_->file(), name, expected, text);
                },
            failed_change);
    }

    // Another client's evict takes it.
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    // The message about a lock without a queue is for all waiters.
    bool wakes_all(kind k) const noexcept override { return !engine::rules_of(k).has_queue; }
    bool has_pending() const noexcept override { return work_.has_work(); }
    void leave_by(time_point until) noexcept override { leave_by_ = until; }
    void abandon() noexcept override NO_THREAD_SAFETY_ANALYSIS {
        if (records_) records_->file().abandon();
        mailbox_.abandon();
    }
    counters* as_counters() noexcept override { return this; }
    server_clock* as_server_clock() noexcept override { return this; }
    // Fences follow the clock of this machine.
    void read_clocks(time_point, handler<result<std::vector<clock_reading>>> done) override {
        done(backends::read_own_clock());
    }
    inspection* as_inspection() noexcept override { return this; }
    linearizable_register* as_register() noexcept override { return this; }

  private:
    // --- requests ----------------------------------------------------------------------------------

    // Does `work` in one transaction, sends the messages that it wrote, and calls `done`.
    template <class Answer, access To = access::write, class Done, class Work,
              class Failure = Answer (*)(const database_error&)>
    void perform(time_point deadline, Done done, Work work, Failure failure = failed<Answer>) {
        requests_.fetch_add(1, std::memory_order_relaxed);
        auto shared = std::make_shared<Done>(std::move(done));
        work_.run(path_, deadline,
                  [this, deadline, done = std::move(shared), work = std::move(work),
                   failure = std::move(failure)](const work_queue::attempt& how) {
                      mail out;
                      std::optional<Answer> answer;
                      bool replaced = false;
                      try {
                          const base::guard lock(mutex_);
                          replaced = open_again_if_replaced(how.wait_until);
                          records_->file().wait_for_writers_until(std::min(how.wait_until, deadline));
                          transaction all(records_->file(), To);
                          uncommitted_ = {};
                          answer = work(out);
                          all.commit();
                          ours_.merge(uncommitted_);
                      } catch (const database_error& e) {
                          const bool busy = e.what_happened() == database_error::effect::none_busy;
                          const bool must_answer = how.last || how.late || boot_clock::now() >= deadline;
                          if (busy && !must_answer) return work_queue::outcome::try_again;
                          out.clear();
                          answer = failure(e);
                      } catch (const std::exception& e) {
                          out.clear();
                          answer = failure(what_stopped_it(e));
                      }
                      if (replaced) on_replaced();
                      send(out);
                      (*done)(*std::move(answer));
                      return work_queue::outcome::done;
                  });
    }

    template <class Request>
    answer_to<Request> apply(const lock_name& name, const Request& request, mail& out) REQUIRES(mutex_) {
        auto found = records_->load(name);
        const auto fences =
            backends::next_fence(found.record.last_fence, fences_per_grant, base::wall_microseconds());
        auto done =
            engine::apply(found.record, request,
                          {.now = clock_now(),
                           .ticket = static_cast<std::uint64_t>(serials_.next()),
                           .next_fence = static_cast<fence>(fences),
                           .reaches = [this](kind of, const owner_id& owner) { return reaches(of, owner); },
                           .remembers = engine::retry_policy::remembered_for(answer_timeout_),
                           .polls = !mailbox_.is_open()});
        if (!records_->save(name, found)) return std::move(done.answer);
        introduce();
        const auto notified = address(name, done.notify, out);
        if constexpr (std::is_same_v<decltype(done.answer), release_answer>) {
            if (auto* const yes = std::get_if<released>(&done.answer)) yes->listeners = notified;
        }
        return std::move(done.answer);
    }

    // Somebody deleted the file, or put another one in its place: the locks in it are gone. True: it was so.
    bool open_again_if_replaced(time_point wait_until) REQUIRES(mutex_) {
        if (records_ && records_->file().is_in_place()) return false;
        records_.reset();
        records_ = std::make_unique<records>(path_, boot_, wait_until);
        ours_ = {};
        return true;
    }
    void on_replaced() {
        notify_({.what = notice::change::restarted, .detail = "the file " + path_ + " was replaced"});
        for (const auto& waiter : waiters_->all()) (*waiter)({watch_event::change::broken, {}});
    }

    // --- who we are --------------------------------------------------------------------------------

    // Others see which process it is that holds a lock or waits for it.
    void introduce() REQUIRES(mutex_) {
        if (ours_.introduced || uncommitted_.introduced) return;
        records_->add_client({id_, ::getpid(), backends::process_namespace()});
        uncommitted_.introduced = true;
    }
    void leave() REQUIRES(mutex_) {
        constexpr milliseconds long_enough{20};
        if (!ours_.introduced || !records_) return;
        records_->file().wait_for_writers_until(std::min(leave_by_, boot_clock::now() + long_enough));
        transaction all(records_->file());
        records_->remove_client(id_);
        all.commit();
    }
    backends::client_seen client_of(const owner_id& owner) REQUIRES(mutex_) {
        const auto id = client_in(owner);
        const auto row = id.empty() ? std::nullopt : records_->client(id);
        if (!row || row->process_namespace != backends::process_namespace()) return {};
        const bool alive = !backends::program_of(row->pid).empty();
        return {{}, row->pid, alive ? presence::connected : presence::gone, alive ? id : std::string{}};
    }
    lock_info describe(const lock_name& name, const engine::lock_record& r) REQUIRES(mutex_) {
        return backends::describe(name, r, clock_now(), [this](const owner_id& owner) REQUIRES(mutex_) {
            return client_of(owner);
        });
    }

    // --- messages ----------------------------------------------------------------------------------

    bool reaches(kind of, const owner_id& owner) {
        const auto client = client_in(owner);
        return client == id_ ? waiters_->find(of, owner) != nullptr : mailbox_.reaches(client);
    }

    // Returns how many messages to all waiters there are.
    std::uint32_t address(const lock_name& name, const engine::messages& what, mail& out) REQUIRES(mutex_) {
        for (const auto& to : what.handed) {
            out.push_back({client_in(to.owner),
                           {message::what::handed_over, name.str(), to.of, to.owner, to.ticket, {}}});
        }
        if (!what.all) return 0;
        const auto clients = records_->listeners(name);
        for (const auto& client : clients)
            out.push_back({client, {.is = message::what::free, .name = name.str(), .owner = what.but}});
        return static_cast<std::uint32_t>(clients.size());
    }

    void send(const mail& all) {
        for (const auto& one : all) {
            if (mailbox_.send(one.to, one.what) != wake_socket::sent::receiver_is_gone) continue;
            perform<result<bool>>(
                boot_clock::now() + answer_timeout_, [](const result<bool>&) {},
                [this, gone = one.to](mail&) REQUIRES(mutex_) {
                    records_->remove_client(gone);
                    return result<bool>{true};
                });
        }
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
                                    (void)mailbox_.send(
                                        m.asker, {message::what::gave_up, m.name, m.of, m.owner, {}, {}});
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
        release({{m.of, lock_name{m.name}}, m.owner, true}, boot_clock::now() + answer_timeout_,
                [](const release_answer&) {});
    }

    const std::function<void(const notice&)> notify_;
    const std::string id_;
    const std::string boot_;
    const milliseconds answer_timeout_;
    const std::string path_;
    backends::owner_serials serials_;
    backends::confirmed_evictions evictions_;
    const std::shared_ptr<backends::waiter_registry> waiters_ = std::make_shared<backends::waiter_registry>();
    std::atomic<std::uint64_t> requests_{0};
    time_point leave_by_{};
    mailbox mailbox_;
    work_queue work_;

    base::mutex mutex_;  // locked before that of the mailbox
    std::unique_ptr<records> records_ GUARDED_BY(mutex_);
    rows_of_a_client ours_ GUARDED_BY(mutex_);
    rows_of_a_client uncommitted_ GUARDED_BY(mutex_);  // of the transaction that runs
};

std::unique_ptr<watch_handle> sqlite_store::watch(const lock_key& key, const owner_id& owner,
                                                  handler<watch_event> on_event) {
    constexpr std::size_t most_names = 1'000;
    using change = watch_event::change;
    const auto to = std::make_shared<handler<watch_event>>(std::move(on_event));
    auto handle = backends::waiter_registry::add(waiters_, key, owner, to);
    if (const auto why = mailbox_.open(); !why.empty()) {
        notify_({notice::change::no_channel_right, "waiters have to poll: " + why, {}});
        (*to)({change::refused, {}});
        return handle;
    }
    // The messages about a lock with a queue go to its first waiter.
    bool listens = engine::rules_of(key.of).has_queue;
    bool too_many = false;
    if (!listens) {
        const base::guard lock(mutex_);
        listens = ours_.listening.contains(key.name);
        too_many = ours_.listening.size() >= most_names;
    }
    if (listens || too_many) {
        (*to)({listens ? change::watching : change::refused, {}});
        return handle;
    }
    perform<result<bool>>(
        boot_clock::now() + answer_timeout_,
        [to](const result<bool>& listed) {
            (*to)({std::holds_alternative<bool>(listed) ? change::watching : change::refused, {}});
        },
        [this, name = key.name](mail&) REQUIRES(mutex_) {
            introduce();
            records_->listen(name, id_);
            uncommitted_.listening.insert(name);
            return result<bool>{true};
        });
    return handle;
}

void sqlite_store::ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                                  handler<result<asked>> done) {
    const bool hears = !of.ask_at.empty() && mailbox_.open().empty();
    perform<result<asked>, access::read>(
        deadline, std::move(done), [this, name, of, hears](mail& out) REQUIRES(mutex_) -> result<asked> {
            const auto found = records_->load(name);
            asked answer;
            answer.left = backends::left_of(found.record, of.owner, clock_now());
            answer.holds = answer.left.has_value();
            const owner_id owner{of.owner};
            const auto client = client_in(owner);
            if (answer.holds && hears && (client == id_ || mailbox_.reaches(client))) {
                evictions_.expect(of.owner);
                out.push_back({client, {message::what::evict, name.str(), kind::native, owner, {}, id_}});
                answer.listeners = 1;
            }
            answer.gave_up = evictions_.is_confirmed(of.owner);
            return answer;
        });
}

}  // namespace

std::unique_ptr<store> open(const backends::services& given) {
    const auto where = parse_url(given.settings.url);
    const auto directory = std::filesystem::path{where.path}.parent_path().string();
    try {
        const auto shared = where.same_kernel ? std::nullopt : backends::shared_file_system(directory);
        if (shared) {
            throw error(make_error_code(errc::invalid_argument),
                        "sqlite: " + directory + " is on " + *shared +
                            ", where machines may not see each other's locks; if no other machine uses it, "
                            "add ?same_kernel=yes");
        }
        if (backends::in_time_namespace()) {
            throw error(make_error_code(errc::invalid_argument),
                        "sqlite: this process is in a time namespace, so its times are not those of other "
                        "processes");
        }
        return std::make_unique<sqlite_store>(given, where);
    } catch (const database_error& e) {
        throw error(e.why().code, "sqlite: " + e.why().text, e.why().server_text);
    } catch (const std::system_error& e) {
        if (e.code().category() == category()) throw;
        throw error(make_error_code(errc::invalid_argument), "sqlite: " + std::string{e.what()});
    }
}

}  // namespace holdfast::sqlite_backend
