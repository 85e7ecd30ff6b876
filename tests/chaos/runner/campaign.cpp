#include "chaos/runner/campaign.hpp"

#include "chaos/checker/judge.hpp"
#include "chaos/history/files.hpp"
#include "chaos/history/recorder.hpp"
#include "chaos/runner/crew.hpp"
#include "chaos/runner/interrupt.hpp"
#include "chaos/runner/mode_change_count.hpp"
#include "chaos/runner/nemesis.hpp"
#include "chaos/runner/survey.hpp"
#include "support/eventually.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/holdfast.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int slow_down = 3;
#else
constexpr int slow_down = 1;
#endif

// The schemes of the lab ask every few milliseconds.
milliseconds served_within(const topology_row& row, std::string_view subject) {
    return (subject == "holdfast" ? row.served_within : 3'000ms) * slow_down;
}
constexpr std::size_t most_reports = 5;

const topology_row& find(std::string_view name) {
    std::string known;
    for (const auto& row : topologies()) {
        if (row.name == name) return row;
        known += " " + std::string{row.name};
    }
    throw std::runtime_error{"there is no topology \"" + std::string{name} + "\"; there are:" + known};
}

milliseconds or_else(milliseconds wanted, milliseconds usual) {
    return wanted == milliseconds{0} ? usual : wanted;
}

shape shape_of(const campaign_settings& how, const topology_row& row) {
    shape s;
    s.clients = how.clients;
    s.links = row.links;
    s.servers = row.servers;
    s.wires = row.wires;
    s.lease = or_else(how.lease, row.lease);
    s.length = or_else(how.round, row.round);
    s.peace = how.peace;
    s.troubles.clear();
    s.mode_changes = how.mode_changes;
    for (auto t : row.troubles()) {
        if (t == trouble::mode_changes && how.mode_changes > 0) t = trouble::mode_keeps_changing;
        const bool always = kind_of(t) == target_kind::client || kind_of(t) == target_kind::group;
        if (always || to_string(t).find(how.only) != std::string_view::npos) s.troubles.push_back(t);
    }
    const bool keys = std::any_of(s.troubles.begin(), s.troubles.end(),
                                  [](trouble t) { return kind_of(t) == target_kind::lock; });
    s.locks = keys ? locks_with_deletable_keys(locks_of(how.subject, row.name)) : 0;
    if (s.troubles.empty()) throw std::runtime_error{"no fault is called \"" + how.only + "\""};
    return s;
}

class campaign {
  public:
    explicit campaign(const campaign_settings& how)
        : how_(how),
          row_(find(how.topology)),
          lease_(or_else(how.lease, row_.lease)),
          locks_(locks_of(how.subject, row_.name)),
          servers_(row_.make(how.care)) {
        for (const auto place : places_of(locks_, how.locks)) used_.push_back(locks_[place]);
        for (const auto& l : locks_) {
            rows_.push_back(l.row);
            keys_.push_back(l.row.name);
        }
    }

    int run() {
        std::printf("chaos: topology %s (%s), %s, seed %llu, %lld s\n", how_.topology.c_str(),
                    std::string{row_.what}.c_str(), how_.subject.c_str(),
                    static_cast<unsigned long long>(how_.seed), static_cast<long long>(how_.length.count()));
        std::fflush(stdout);
        if (how_.subject == "holdfast") set_permits();
        crew clients{common(), how_.clients, folder_.path()};
        for (std::uint64_t round = 0; !over(); ++round) play(clients, round);
        finish(clients);
        return verdict();
    }

  private:
    [[nodiscard]] client_settings common() const {
        client_settings c;
        c.locks.subject = how_.subject;
        c.locks.topology = how_.topology;
        c.locks.url = servers_->url();
        c.url_of_first = servers_->url_of_first();
        if (const auto servers = servers_->lock_servers(); !servers.empty())
            c.locks.socket = servers.front()->socket_path();
        c.locks.replicas = how_.care == precautions::taken ? row_.replicas : 0;
        c.locks.care = how_.care;
        c.locks.lease = lease_;
        c.seed = how_.seed;
        c.threads = how_.threads;
        c.only_locks = how_.locks;
        c.resource = (folder_.path() / "resource").string();
        return c;
    }
    // While nothing is wrong yet: a semaphore that nobody could use in a round would have no number of
    // permits.
    void set_permits() {
        auto how = common().locks;
        how.who = "first";
        const auto all = open_holdfast(how);
        for (const auto place : places_of(locks_, how_.locks)) {
            if (locks_[place].row.model != model::counted) continue;
            const auto got = all->at(place).acquire({.wait = in_ns(test::patience)});
            if (got.held) (void)got.held->release();
        }
    }
    [[nodiscard]] bool over() const {
        return interrupted() || broken_ || (how_.expect_violation && wrong_ > 0) || is_at_its_end();
    }
    [[nodiscard]] bool is_at_its_end() const {
        return std::chrono::steady_clock::now() - begun_ >= how_.length ||
               mode_changes_.is_reached(servers_->mode_changes().size());
    }

    void play(crew& clients, std::uint64_t round) {
        const auto of = shape_of(how_, row_);
        nemesis trouble{*servers_, clients, keys_};
        const auto begun = boot_time();
        clients.begin(round);
        trouble.carry_out(plan(how_.seed, round, of), of.length,
                          [&] { return interrupted() || is_at_its_end(); });
        if (interrupted()) return;  // an interrupted run does not wait for the end of its round
        servers_->mend();
        history h;
        h.locks = rows_;
        h.calm.push_back({boot_time(), 0});
        if (!clients.drain(served_within(row_, how_.subject) + 1s)) {
            complain("clients do not finish their operations", h);
            broken_ = true;
        }
        h.calm.back().to = boot_time();
        h.faults = trouble.take_faults();
        if (servers_->had_unplanned_failover())
            h.faults.push_back({begun, h.calm.back().to, "an unplanned failover", 0, -1, true});
        for (const auto& what : clients.dead()) {
            complain(what, h);
            broken_ = true;
        }
        h.events = clients.collect();
        // The longest lease, the grant of a queue, and its cleanup.
        std::vector<std::string> left;
        if (!broken_) left = survey_locks(*servers_, used_, (lease_ * 2 + 5s) * slow_down);
        judge_round(h, left);
    }

    void judge_round(const history& h, const std::vector<std::string>& left) {
        judgement_settings rules;
        rules.served_within = in_ns(served_within(row_, how_.subject));
        rules.others.linger = in_ns(lease_ * 2 + 7s);
        rules.fences_before = fences_;
        const auto begun = std::chrono::steady_clock::now();
        const auto found = judge(h, rules);
        judged_ += std::chrono::steady_clock::now() - begun;
        remember_fences(h, fences_);
        seen_ += count(h);
        if (how_.mode_changes > 0)
            mode_changes_.add(h, servers_->mode_changes(), in_ns(served_within(row_, how_.subject)));
        unpromised_ += count_unpromised(h);
        unjudged_ += count_unjudged(h);
        faults_ += h.faults.size();
        ++rounds_;
        for (const auto& what : left) complain("leftover: " + what, h);
        for (const auto& v : found) complain(report(v, h), h);
    }

    void finish(crew& clients) {
        if (interrupted()) return;
        const history none;
        for (const auto& what : clients.dismiss(test::patience)) complain(what, none);
        if (broken_) return;
        for (const auto& what : survey_channels(*servers_)) complain("leftover: " + what, none);
        if (how_.mode_changes == 0) return;
        client on{{.url = servers_->direct_url()}};
        for (const auto& what : mode_changes_.complaints(admin::mode(on).epoch)) complain(what, none);
    }

    // Reports what is wrong. The first time, it keeps the history.
    void complain(const std::string& what, const history& h) {
        ++wrong_;
        if (wrong_ > most_reports) return;
        std::printf("%s%s\n", what.c_str(), what.ends_with('\n') ? "" : "\n");
        if (kept_ || h.events.empty()) return;
        std::filesystem::create_directories(how_.keep);
        const auto name = how_.topology + "-" + how_.subject + "-" + std::to_string(how_.seed);
        kept_ = how_.keep / (name + ".history");
        save(h, *kept_);
        write_lines(h, how_.keep / (name + ".txt"));
    }

    [[nodiscard]] int verdict() const {
        const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
        std::printf(
            "chaos: topology %s, %s, seed %llu: %zu operations (%zu granted, %zu refused, %zu failed, %zu "
            "leases found "
            "over), %zu let through by latches, %zu late writes refused of %zu, %zu faults, %llu rounds, %zu "
            "violations in %.0f s "
            "(%zu events judged in %.0f ms)\n",
            how_.topology.c_str(), how_.subject.c_str(), static_cast<unsigned long long>(how_.seed),
            seen_.operations, seen_.granted, seen_.refused, seen_.failed, seen_.overrun, seen_.let_through,
            seen_.writes_refused, seen_.writes_refused + seen_.writes_accepted, faults_,
            static_cast<unsigned long long>(rounds_), wrong_, took, seen_.events,
            std::chrono::duration<double, std::milli>(judged_).count());
        if (how_.mode_changes > 0) std::printf("chaos: %s\n", mode_changes_.summary().c_str());
        if (kept_) {
            std::printf(
                "chaos: the history is in %s; judge it again with --judge, run it again with --seed %llu\n",
                kept_->string().c_str(), static_cast<unsigned long long>(how_.seed));
        }
        if (unpromised_ > 0) {
            std::printf(
                "chaos: %zu times a lock without replicas had two holders or was lost; it promises only "
                "its fences, and they held\n",
                unpromised_);
        }
        if (unjudged_ > 0)
            std::printf("chaos: %zu answers of latches were not judged: too many uses had no answer\n",
                        unjudged_);
        if (interrupted()) return 130;
        if (how_.expect_violation) {
            if (wrong_ == 0) std::puts("chaos: a violation was expected, and none was found");
            return wrong_ > 0 ? 0 : 1;
        }
        if (seen_.granted == 0 || faults_ == 0) {
            std::puts("chaos: nothing was granted or nothing went wrong, so this run shows nothing");
            return 1;
        }
        return wrong_ > 0 ? 1 : 0;
    }

    const campaign_settings how_;
    const topology_row& row_;
    const milliseconds lease_;
    const std::vector<run_lock> locks_;
    std::vector<run_lock> used_;  // those that the clients use
    std::vector<lock_row> rows_;
    std::vector<std::string> keys_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    test::temp_dir folder_;
    std::unique_ptr<topology> servers_;

    tally seen_;
    mode_change_count mode_changes_{how_.mode_changes};
    std::size_t unpromised_ = 0;
    std::size_t unjudged_ = 0;
    std::size_t faults_ = 0;
    std::uint64_t rounds_ = 0;
    std::size_t wrong_ = 0;
    bool broken_ = false;  // another round makes no sense
    std::chrono::steady_clock::duration judged_{};
    std::map<std::uint16_t, std::uint64_t> fences_;
    std::optional<std::filesystem::path> kept_;
};

}  // namespace

// A history that is found after an hour must not be lost for want of a folder.
void check_keep(const std::filesystem::path& folder) {
    std::error_code ec;
    std::filesystem::create_directories(folder, ec);
    const auto probe = folder / (".chaos-" + std::to_string(::getpid()));
    const bool can_write = static_cast<bool>(std::ofstream{probe} << "x" << std::flush);
    std::filesystem::remove(probe, ec);
    if (!can_write)
        throw std::runtime_error{"nothing can be kept in \"" + folder.string() +
                                 "\": it cannot be written to"};
}

int run_campaign(const campaign_settings& how) { return campaign{how}.run(); }

int run_all(campaign_settings how) {
    how.length /= topologies().size();
    int code = 0;
    for (const auto& row : topologies()) {
        how.topology = row.name;
        code = std::max(code, run_campaign(how));
        if (interrupted()) break;
    }
    return code;
}

int judge_file(const std::filesystem::path& file) {
    const auto h = load(file);
    judgement_settings rules;
    for (const auto& row : topologies())
        rules.served_within = std::max(rules.served_within, in_ns(served_within(row, "holdfast")));
    const auto found = judge(h, rules);
    for (const auto& v : found) std::printf("%s\n", report(v, h).c_str());
    std::printf("chaos: %zu events, %zu violations\n", h.events.size(), found.size());
    return found.empty() ? 0 : 1;
}

void print_plan(const campaign_settings& how, std::uint64_t rounds) {
    const auto of = shape_of(how, find(how.topology));
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::printf("round %llu\n", static_cast<unsigned long long>(round));
        for (const auto& p : plan(how.seed, round, of)) std::printf("  %s\n", describe(p).c_str());
    }
}

}  // namespace holdfast::chaos
