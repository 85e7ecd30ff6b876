#include "harness.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <random>

#include <sched.h>
#include <unistd.h>

namespace holdfast::bench {

namespace {

struct spread {
    double median = 0;
    double low = 0;
    double high = 0;
};

spread of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto n = values.size();
    const auto middle = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return {middle, values.front(), values.back()};
}

std::string number(double v) {
    if (v >= 1000) return fmt::format("{:.0f}", v);
    return v >= 10 ? fmt::format("{:.1f}", v) : fmt::format("{:.3f}", v);
}

struct side_result {
    std::string name;
    spread value;
    spread ratio;  // to the floor of the same round
    std::map<std::string, spread> extras;
    bool unsteady = false;  // its rounds disagree by more than a factor of two
};

struct row_result {
    const row_plan* plan = nullptr;
    placement where = placement::anywhere;
    std::vector<side_result> sides;
    struct verdict {
        std::string text;
        bool reached = false;
    };
    std::vector<verdict> verdicts;
};

std::string_view text_of(placement p) {
    switch (p) {
        case placement::anywhere: return "anywhere";
        case placement::split: return "split";
        case placement::same: return "same";
    }
    return "";
}

row_result::verdict judge(const target& t, const std::vector<side_result>& sides) {
    const auto s =
        std::find_if(sides.begin(), sides.end(), [&](const side_result& r) { return r.name == t.subject; });
    if (s == sides.end()) throw std::logic_error("a target names no side: " + t.subject);
    using kind = target::kind;
    const bool of_ratio = t.what == kind::ratio_at_most || t.what == kind::ratio_at_least;
    const double got = of_ratio ? s->ratio.median : s->extras.at(t.extra).median;
    const bool at_most = t.what == kind::ratio_at_most || t.what == kind::extra_at_most;
    const bool reached = at_most ? got <= t.limit : got >= t.limit;
    return {fmt::format("{}: {} {} {} {}", t.subject, of_ratio ? "ratio" : t.extra, number(got),
                        at_most ? "<=" : ">=", number(t.limit)),
            reached};
}

row_result measure(const row_plan& plan, placement where, const run_options& how) {
    place(placement::anywhere, ::getpid());
    redis_server server;
    place(where, server.pid());
    const auto contest = plan.set_up(server);
    auto& sides = contest->sides;

    std::vector<std::vector<sample>> samples(sides.size());
    std::mt19937 dice{20'240'601};
    std::vector<std::size_t> order(sides.size());
    std::iota(order.begin(), order.end(), 0U);
    for (std::size_t i = 0; i < sides.size(); ++i) (void)sides[i].run(how.span / 4);  // warm
    for (int round = 0; round < how.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), dice);
        for (const auto i : order) samples[i].push_back(sides[i].run(how.span));
        if (::isatty(STDERR_FILENO) != 0) {
            fmt::print(stderr, "\r{}: round {} of {}\x1b[K", plan.name, round + 1, how.rounds);
        }
    }
    if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");

    row_result result{&plan, where, {}, {}};
    for (std::size_t i = 0; i < sides.size(); ++i) {
        side_result r;
        r.name = sides[i].name;
        std::vector<double> values, ratios;
        for (std::size_t round = 0; round < samples[i].size(); ++round) {
            values.push_back(samples[i][round].value);
            ratios.push_back(samples[i][round].value / samples[0][round].value);
        }
        r.value = of(values);
        r.ratio = of(ratios);
        r.unsteady = r.ratio.high > 2 * r.ratio.low;
        for (const auto& [name, unused] : samples[i].front().extras) {
            std::vector<double> all;
            for (const auto& s : samples[i]) all.push_back(s.extras.at(name));
            r.extras[name] = of(all);
        }
        result.sides.push_back(std::move(r));
    }
    for (const auto& t : contest->targets) result.verdicts.push_back(judge(t, result.sides));
    return result;
}

void print(const row_result& r) {
    fmt::print("\n{}: {}   [placement: {}]\n", r.plan->name, r.plan->title, text_of(r.where));
    for (std::size_t i = 0; i < r.sides.size(); ++i) {
        const auto& s = r.sides[i];
        fmt::print("  {:<34} {:>10} {} [{}..{}]", s.name, number(s.value.median), r.plan->unit,
                   number(s.value.low), number(s.value.high));
        if (i > 0) {
            fmt::print("   x{:.2f} [{:.2f}..{:.2f}]", s.ratio.median, s.ratio.low, s.ratio.high);
            if (s.unsteady) fmt::print(" UNSTEADY: rounds differ by more than a factor of two");
        }
        fmt::print("\n");
        for (const auto& [name, v] : s.extras)
            fmt::print("  {:<34} {:>10} {} [{}..{}]\n", "", number(v.median), name, number(v.low),
                       number(v.high));
    }
    for (const auto& v : r.verdicts) fmt::print("  {} {}\n", v.reached ? "reached" : "MISSED ", v.text);
    std::fflush(stdout);
}

nlohmann::ordered_json to_json(const spread& s) {
    return {{"median", s.median}, {"low", s.low}, {"high", s.high}};
}

nlohmann::ordered_json to_json(const row_result& r) {
    nlohmann::ordered_json j{{"row", r.plan->name},
                             {"title", r.plan->title},
                             {"unit", r.plan->unit},
                             {"placement", text_of(r.where)},
                             {"sides", nlohmann::ordered_json::array()},
                             {"targets", nlohmann::ordered_json::array()}};
    for (const auto& s : r.sides) {
        nlohmann::ordered_json one{{"name", s.name},
                                   {"value", to_json(s.value)},
                                   {"ratio", to_json(s.ratio)},
                                   {"unsteady", s.unsteady}};
        for (const auto& [name, v] : s.extras) one["extras"][name] = to_json(v);
        j["sides"].push_back(one);
    }
    for (const auto& v : r.verdicts) j["targets"].push_back({{"text", v.text}, {"reached", v.reached}});
    return j;
}

placement placement_named(const std::string& name) {
    for (const auto p : {placement::anywhere, placement::split, placement::same})
        if (name == text_of(p)) return p;
    throw std::invalid_argument("there is no placement \"" + name + "\"; there are anywhere, split and same");
}

}  // namespace

void place(placement where, pid_t server) {
    const int cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    cpu_set_t all, first, others;
    CPU_ZERO(&all);
    CPU_ZERO(&first);
    CPU_ZERO(&others);
    for (int i = 0; i < cpus; ++i) {
        CPU_SET(i, &all);
        if (i > 0) CPU_SET(i, &others);
    }
    CPU_SET(0, &first);
    if (cpus == 1) others = first;
    const auto& for_server = where == placement::anywhere ? all : where == placement::split ? first : others;
    const auto& for_us = where == placement::anywhere ? all : others;
    std::error_code ignored;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", server), ignored))
        ::sched_setaffinity(std::stoi(task.path().filename()), sizeof for_server, &for_server);
    ::sched_setaffinity(0, sizeof for_us, &for_us);
}

int run_rows(const run_options& how) {
    std::vector<const row_plan*> chosen;
    for (const auto& plan : *how.plans) {
        const bool wanted = std::find(how.rows.begin(), how.rows.end(), plan.name) != how.rows.end();
        if (how.rows.empty() || wanted) chosen.push_back(&plan);
    }
    for (const auto& name : how.rows) {
        const bool known =
            std::any_of(chosen.begin(), chosen.end(), [&](const row_plan* p) { return p->name == name; });
        if (known) continue;
        fmt::print(stderr, "bench: there is no row \"{}\"; there are:\n", name);
        for (const auto& plan : *how.plans) fmt::print(stderr, "  {:<24} {}\n", plan.name, plan.title);
        return 64;
    }
    auto json = nlohmann::ordered_json::array();
    int missed = 0;
    int targets = 0;
    for (const auto* plan : chosen) {
        if (const auto why = plan->missing(); !why.empty()) {
            if (how.json)
                json.push_back(nlohmann::ordered_json{{"row", plan->name}, {"left_out", why}});
            else
                fmt::print("\n{}: left out: {}\n", plan->name, why);
            continue;
        }
        const auto where = how.where.empty() ? plan->where : placement_named(how.where);
        const auto result = measure(*plan, where, how);
        for (const auto& v : result.verdicts) {
            ++targets;
            missed += v.reached ? 0 : 1;
        }
        if (how.json)
            json.push_back(to_json(result));
        else
            print(result);
    }
    if (how.json)
        fmt::print("{}\n", json.dump(2));
    else
        fmt::print("\n{} of {} targets reached\n", targets - missed, targets);
    return missed == 0 ? 0 : 1;
}

}  // namespace holdfast::bench
