#include "observe/exposition.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace holdfast::observe {

namespace {

// Below 64 us all waits are alike, and above 9 minutes, too.
constexpr std::size_t first_bound = 6, last_bound = 29;

// The shortest text that reads back as the same number.
template <class Number>
void append(std::string& to, Number value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    to.append(digits.data(), end);
}

std::string in_seconds(std::int64_t microseconds) {
    std::string text;
    append(text, static_cast<double>(microseconds) / 1e6);
    return text;
}

void append_escaped(std::string& to, std::string_view value, bool quotes) {
    for (const char c : value) {
        if (c == '\\')
            to += "\\\\";
        else if (c == '\n')
            to += "\\n";
        else if (c == '"' && quotes)
            to += "\\\"";
        else
            to += c;
    }
}

}  // namespace

void exposition::begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    type_ = type;
    // The former format describes a counter by the name of its series, OpenMetrics without the suffix.
    const bool with_total = type == "counter" && as_ == metrics_format::prometheus;
    for (const bool describes : {true, false}) {
        text_.append(describes ? "# HELP " : "# TYPE ").append(name).append(with_total ? "_total " : " ");
        if (describes)
            append_escaped(text_, help, as_ == metrics_format::open_metrics);
        else
            text_ += type;
        text_ += '\n';
    }
}

void exposition::info(std::string_view name, std::string_view help) {
    begin(name, as_ == metrics_format::open_metrics ? "info" : "gauge", help);
}

// The name and its labels, up to the value.
void exposition::series(std::string_view suffix, labels of, label last) {
    text_.append(name_).append(suffix);
    bool any = false;
    const auto write = [&](const label& one) {
        if (one.second.empty()) return;
        text_ += any ? ',' : '{';
        any = true;
        text_.append(one.first).append("=\"");
        append_escaped(text_, one.second, true);
        text_ += '"';
    };
    for (const auto& one : of) write(one);
    write(last);
    if (any) text_ += '}';
    text_ += ' ';
}

void exposition::add(labels of, std::uint64_t value) {
    series(type_ == "counter" ? "_total" : type_ == "info" ? "_info" : "", of);
    append(text_, value);
    text_ += '\n';
}

void exposition::add(labels of, double value) {
    series({}, of);
    append(text_, value);
    text_ += '\n';
}

void exposition::bucket(labels of, std::string_view bound, std::uint64_t value) {
    series("_bucket", of, {"le", bound});
    append(text_, value);
    text_ += '\n';
}

// Bucket i of ours has the times below 2^i microseconds, but the last one, which has all the others.
void exposition::add(labels of, const holdfast::histogram& times) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i <= last_bound; ++i) {
        so_far += times.buckets[i];
        if (i >= first_bound) bucket(of, in_seconds(std::int64_t{1} << i), so_far);
    }
    bucket(of, "+Inf", times.count);
    series("_sum", of);
    text_.append(in_seconds(times.sum.count())).append("\n");
    series("_count", of);
    append(text_, times.count);
    text_ += '\n';
}

void exposition::add(labels of, const share_recorder& shares) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < share_recorder::bounds.size(); ++i) {
        so_far += shares.in(i);
        std::string bound;
        append(bound, static_cast<double>(share_recorder::bounds[i]) / 1e3);
        bucket(of, bound == "1" ? "1.0" : bound, so_far);
    }
    so_far += shares.in(share_recorder::bounds.size());
    bucket(of, "+Inf", so_far);
    series("_sum", of);
    append(text_, static_cast<double>(shares.sum()) / 1e3);
    text_ += '\n';
    series("_count", of);
    append(text_, so_far);
    text_ += '\n';
}

std::string exposition::take() && {
    if (as_ == metrics_format::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace holdfast::observe
