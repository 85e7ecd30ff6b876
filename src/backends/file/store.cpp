#include "backends/file/store.hpp"

#include "backends/common/confirmed_evictions.hpp"
#include "backends/common/host.hpp"
#include "backends/common/local_file_system.hpp"
#include "backends/common/mailbox.hpp"
#include "backends/common/own_clock.hpp"
#include "backends/common/owner_serials.hpp"
#include "backends/common/waiter_registry.hpp"
#include "backends/common/work_queue.hpp"
#include "backends/file/evictions.hpp"
#include "backends/file/examine.hpp"
#include "backends/file/kinds.hpp"
#include "backends/file/lock_directory.hpp"
#include "backends/file/look.hpp"
#include "backends/file/peers.hpp"
#include "backends/file/registers.hpp"
#include "backends/file/url.hpp"
#include "base/parker.hpp"
#include "engine/kinds.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"

#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

namespace {

using namespace backend;
using backends::mailbox;
using backends::message;
using backends::wake_socket;
using backends::work_queue;

constexpr capabilities what_we_have{.guarantee = strength::host_local,
                                    .ends = lease_end::by_session,
                                    .counted_by = lease_clock::of_this_host,
                                    .fences_per_grant = fences_per_grant,
                                    .fences_follow_time = true,
                                    .downgrades = false};

class file_store final : public store,
                         public counters,
                         public inspection,
                         public linearizable_register,
                         public server_clock {
  public:
    file_store(const backends::services& given, const url& where)
        : notify_(given.notify),
          tag_(tag_of_client(given.id.hex())),
          socket_(socket_name(tag_)),
          waiting_(std::make_shared<waiting_files>(
              given.reactor,
              [this](const lock_name& name, close_watch::change what) { on_change(name, what); })),
          locks_(where, waiting_, waiters_),
          mailbox_(given.reactor, locks_.where().clients(), socket_,
                   [this](const message& m) { on_message(m); }),
          evictions_(given.reactor),
          work_(given.reactor) {}

    ~file_store() override {
        mailbox_.close();
        work_.close();
        evictions_.close();
        waiting_->close();
        locks_.drop_all();
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic statistics() const noexcept override { return {requests_.load(std::memory_order_relaxed), {}}; }
    std::string_view unsupported(kind k) const noexcept override { return why_not(k); }
    owner_id new_owner(kind, std::uint32_t) override { return owner_id{owner_text(tag_, serials_.next())}; }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (r.key.of == kind::semaphore)
            return take_turns<attempt_answer>(r.key.name.str(), deadline, std::move(done), [this, r] {
                auto answer = locks_.take_permits(r);
                if (answer) listen_if_granted(*answer);
                return answer;
            });
        count();
        auto answer = locks_.lock(r);
        listen_if_granted(answer);
        done(std::move(answer));
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        count();
        std::vector<renew_answer> answers;
        answers.reserve(all.size());
        for (const auto& r : all) answers.push_back(locks_.renew(r));
        done(std::move(answers));
    }
    void release(const release_request& r, time_point, handler<release_answer> done) override {
        count();
        done(locks_.release(r));
    }
    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        if (r.what == adjustment::raise_fence) {
            count();
            return done(locks_.raise_fence(r));
        }
        take_turns<adjust_answer>(r.key.name.str(), deadline, std::move(done),
                                  [this, r] { return locks_.adjust(r); });
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override;
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }

    // --- for operators -----------------------------------------------------------------------------

    void inspect(const lock_name& name, holders_shown, time_point, handler<result<lock_info>> done) override {
        count();
        auto found = kernel_locks_of(locks_.where(), name);
        if (auto* const no = std::get_if<failure>(&found)) return done(std::move(*no));
        done(described(name, std::get<locks_of_file>(found), peers()));
    }
    void list(const std::string& glob, listed, time_point,
              handler<result<std::vector<lock_info>>> done) override {
        count();
        auto found = all_kernel_locks(locks_.where(), glob);
        if (auto* const no = std::get_if<failure>(&found)) return done(std::move(*no));
        const auto clients = peers();
        std::vector<lock_info> all;
        for (const auto& one : std::get<std::vector<found_lock>>(found)) {
            auto info = described(one.name, one.locks, clients);
            if (!info.holders.empty()) all.push_back(std::move(info));
        }
        done(std::move(all));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point,
                        handler<result<asked>> done) override;
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override;
    // There is no queue.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    bool hear_requests_for(const lock_name&) override { return hears(); }
    void examine(const examine_request&, time_point, handler<result<examination>> done) override {
        try {
            done(file_backend::examine(locks_.where().directory()));
        } catch (const std::system_error& e) {
            done(failure{make_error_code(errc::unavailable), e.what()});
        }
    }

    // --- registers ---------------------------------------------------------------------------------

    void read(std::string_view name, const register_value&, time_point,
              handler<result<register_value>> done) override {
        count();
        done(read_register(locks_.where(), name));
    }
    void change(std::string_view name, std::uint64_t expected, std::string_view text, time_point deadline,
                handler<result<register_value>> done) override {
        take_turns<result<register_value>>(
            locks_.where().private_directory(), deadline, std::move(done),
            [this, name = std::string{name}, expected, text = std::string{text}] {
                return change_register(locks_.where(), name, expected, text);
            },
            "another process is changing a register; one that was stopped while it did stops all changes");
    }

    // Another client's evict takes it.
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    bool wakes_all(kind) const noexcept override { return true; }
    bool has_pending() const noexcept override { return work_.has_work(); }
    // The child has closed its copies of the lock files by itself: see lock_file.hpp.
    void abandon() noexcept override { mailbox_.abandon(); }
    counters* as_counters() noexcept override { return this; }
    inspection* as_inspection() noexcept override { return this; }
    linearizable_register* as_register() noexcept override { return this; }
    server_clock* as_server_clock() noexcept override { return this; }
    // Fences follow the clock of this machine.
    void read_clocks(time_point, handler<result<std::vector<clock_reading>>> done) override {
        done(backends::read_own_clock());
    }

  private:
    void count() { requests_.fetch_add(1, std::memory_order_relaxed); }

    // Repeats `work` until it answers: another process may have its turn at what is called `at`.
    template <class Answer, class Done, class Work>
    void take_turns(const std::string& at, time_point deadline, Done done, Work work,
                    const char* why_not =
                        "another process is counting permits; one that was stopped while it "
                        "did stops the semaphore") {
        count();
        auto shared = std::make_shared<Done>(std::move(done));
        work_.run(at, deadline,
                  [deadline, done = std::move(shared), work = std::move(work),
                   why_not](const work_queue::attempt& how) {
                      using outcome = work_queue::outcome;
                      // The caller of a late one does not wait for the permits any more.
                      auto answer = how.late ? std::nullopt : work();
                      while (!answer && boot_clock::now() < std::min(how.wait_until, deadline)) {
                          std::this_thread::sleep_for(std::chrono::microseconds{20});
                          answer = work();
                      }
                      if (!answer && !how.last && !how.late && boot_clock::now() < deadline)
                          return outcome::try_again;
                      if (answer)
                          (*done)(*std::move(answer));
                      else
                          (*done)(failed<Answer>({make_error_code(errc::busy_server), why_not}));
                      return outcome::done;
                  });
    }

    template <class Answer>
    static Answer failed(failure why) {
        if constexpr (std::is_same_v<Answer, result<register_value>>)
            return why;
        else
            return refused{std::move(why)};
    }

    // An operator who evicts the holder needs its client.
    void listen_if_granted(const attempt_answer& answer) {
        if (std::holds_alternative<granted>(answer) && !listens_.exchange(true, std::memory_order_relaxed))
            (void)hears();
    }
    // False: no other client can send us a message.
    bool hears() {
        if (mailbox_.open().empty()) return true;
        ::mkdir(locks_.where().private_directory().c_str(), S_IRWXU);
        return mailbox_.open().empty();
    }

    // Removes the sockets of killed processes.
    std::vector<peer> peers() {
        auto all = peers_in(locks_.where().clients());
        std::erase_if(all, [this](const peer& one) {
            const bool gone = one.pid > 0 && backends::program_of(one.pid).empty();
            return gone && !mailbox_.reaches(one.socket);
        });
        return all;
    }

    lock_info described(const lock_name& name, const locks_of_file& locks, const std::vector<peer>& clients);
    void on_change(const lock_name& name, close_watch::change what);
    void on_message(const message& m);
    void drop(const message& m);

    const std::function<void(const notice&)> notify_;
    const std::string tag_;
    const std::string socket_;
    const std::shared_ptr<backends::waiter_registry> waiters_ = std::make_shared<backends::waiter_registry>();
    const std::shared_ptr<waiting_files> waiting_;
    lock_directory locks_;
    mailbox mailbox_;
    evictions evictions_;
    work_queue work_;
    backends::owner_serials serials_;
    backends::confirmed_evictions confirmed_;
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<bool> listens_{false};
};

// --- waiting ----------------------------------------------------------------------------------------

std::unique_ptr<watch_handle> file_store::watch(const lock_key& key, const owner_id& owner,
                                                handler<watch_event> on_event) {
    using change = watch_event::change;
    const auto to = std::make_shared<handler<watch_event>>(std::move(on_event));
    auto handle = std::make_unique<waiting_handle>(backends::waiter_registry::add(waiters_, key, owner, to),
                                                   waiting_, key.name, owner);
    std::string why;
    handle->watches_closes =
        waiting_->closes().add(key.name, locks_.where().lock(paths::file_of(key.name)), why);
    if (!handle->watches_closes)
        notify_({notice::change::no_channel_right, "waiters have to poll: " + why, {}});
    (*to)({handle->watches_closes ? change::watching : change::refused, {}});
    return handle;
}

void file_store::on_change(const lock_name& name, close_watch::change what) {
    using change = watch_event::change;
    const auto seen = what == close_watch::change::closed ? change::woken : change::broken;
    for (const auto& waiter : waiters_->all_of(name, {})) (*waiter)({seen, {}});
}

// --- for operators ----------------------------------------------------------------------------------

lock_info file_store::described(const lock_name& name, const locks_of_file& locks,
                                const std::vector<peer>& clients) {
    auto info = describe(
        name, locks,
        {.peer_of = [&](const std::string& tag) -> std::optional<peer> {
             for (const auto& one : clients)
                 if (one.tag == tag) return one;
             return std::nullopt;
         },
         .reaches = [this](const peer& one) { return one.socket == socket_ || mailbox_.reaches(one.socket); },
         .is_a_process = [](std::int64_t pid) { return pid <= 0 || !backends::program_of(pid).empty(); }});
    info.last_fence = last_fence(locks_.where(), paths::file_of(name));
    if (const auto total = locks_.permits_of(name)) {
        info.count = *total - permits_out(info);
        info.layout = type_name(kind::semaphore);
    }
    return info;
}

void file_store::ask_to_give_up(const lock_name& name, const holder_info& of, time_point,
                                handler<result<asked>> done) {
    count();
    auto found = kernel_locks_of(locks_.where(), name);
    if (auto* const no = std::get_if<failure>(&found)) return done(std::move(*no));
    asked answer;
    for (const auto& m : std::get<locks_of_file>(found).marks)
        answer.holds = answer.holds || (m.is == mark::meaning::holder && text_of(m.owner) == of.owner);
    if (answer.holds && !of.ask_at.empty() && hears()) {
        confirmed_.expect(of.owner);
        const message ask{message::what::evict, name.str(), kind::native, owner_id{of.owner}, {}, socket_};
        answer.listeners = mailbox_.send(of.ask_at, ask) == wake_socket::sent::yes ? 1 : 0;
    }
    answer.gave_up = confirmed_.is_confirmed(of.owner);
    done(answer);
}

void file_store::evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
                       handler<result<std::vector<evicted>>> done) {
    constexpr milliseconds long_enough{1'000};
    count();
    std::set<std::string> asked;
    std::vector<std::pair<std::string, message>> mail;
    const auto clients = peers();
    const bool answers = hears();
    for (const auto& owner : owners) {
        for (const auto& one : clients) {
            if (is_foreign(owner) || !owner.starts_with(one.tag + '|')) continue;
            // Of a client that is gone, another process has the file open.
            if (!answers || (one.socket != socket_ && !mailbox_.reaches(one.socket))) continue;
            asked.insert(owner);
            mail.emplace_back(
                one.socket,
                message{message::what::drop, name.str(), kind::native, owner_id{owner}, {}, socket_});
        }
    }
    std::string why = "only its process can free a lock of flock(2): ";
    if (asked.empty()) {
        for (const auto& owner : owners) why += (&owner == &owners.front() ? "end " : ", ") + owner;
        return done(failure{make_error_code(errc::wrong_kind), std::move(why)});
    }
    evictions_.begin(asked, std::min(deadline, boot_clock::now() + long_enough),
                     {make_error_code(errc::unavailable), why + "it does not answer"}, std::move(done));
    for (const auto& [to, what] : mail) {
        if (mailbox_.send(to, what) == wake_socket::sent::receiver_is_gone)
            evictions_.report(what.owner.str(), evictions::end::not_held);
    }
}

void file_store::on_message(const message& m) {
    switch (m.is) {
        case message::what::evict:
            return notify_(
                {.what = notice::change::evicted, .owner = m.owner, .confirm = [this, m] {
                     (void)mailbox_.send(m.asker, {message::what::gave_up, m.name, m.of, m.owner, {}, {}});
                 }});
        case message::what::gave_up: return confirmed_.confirm(m.owner.str());
        case message::what::drop: return drop(m);
        case message::what::dropped:
            return evictions_.report(m.owner.str(),
                                     m.ticket.empty() ? evictions::end::dropped : evictions::end::not_held);
        case message::what::handed_over:
        case message::what::free: return;  // of no store in files
    }
}

// The lease ends before the lock is free.
void file_store::drop(const message& m) {
    const bool held = locks_.holds(m.owner);
    if (held) notify_({.what = notice::change::evicted, .owner = m.owner});
    const bool freed = locks_.drop(m.owner) || held;
    (void)mailbox_.send(m.asker,
                        {message::what::dropped, m.name, m.of, m.owner, freed ? "" : "not_held", {}});
}

void make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return;
    throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace

std::unique_ptr<store> open(const backends::services& given) {
    const auto where = parse_url(given.settings.url);
    try {
        make_directory(where.directory);
        const auto shared = where.same_kernel ? std::nullopt : backends::shared_file_system(where.directory);
        if (shared) {
            throw error(make_error_code(errc::invalid_argument),
                        "file: " + where.directory + " is on " + *shared +
                            ", where machines may not see each other's locks; if no other machine uses it, "
                            "add ?same_kernel=yes");
        }
        struct stat about {};
        if (::stat(where.directory.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
            throw error(make_error_code(errc::invalid_argument),
                        "file: " + where.directory + " is no directory");
        return std::make_unique<file_store>(given, where);
    } catch (const std::system_error& e) {
        if (e.code().category() == category()) throw;
        const auto code = e.code() == std::errc::permission_denied    ? errc::no_permission
                          : e.code() == std::errc::no_space_on_device ? errc::out_of_memory
                                                                      : errc::invalid_argument;
        throw error(make_error_code(code), "file: " + std::string{e.what()});
    }
}

}  // namespace holdfast::file_backend
