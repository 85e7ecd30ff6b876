// A client's metrics in a registry of prometheus-cpp 1.0 or later, beside a program's own:
//
//     const auto of_locks = std::make_shared<holdfast::prometheus_metrics>(client);
//     exposer.RegisterCollectable(of_locks);  // does not keep it: of_locks must live on
//
// The only header that needs prometheus-cpp (Debian: prometheus-cpp-dev; link prometheus-cpp::core), and it
// is not part of holdfast.hpp.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/metrics.hpp>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

// The metrics of metrics_text(), docs/monitoring.md lists them. Thread-safe; asks no server. The client must
// live longer, also longer than a scrape under way: end the exposer, or take this out of it
// (RemoveCollectable), before the client ends.
class prometheus_metrics : public prometheus::Collectable {
  public:
    explicit prometheus_metrics(client& of) : of_(of) {}

    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
        const auto text = metrics_text(of_, metrics_format::prometheus);
        std::vector<prometheus::MetricFamily> all;
        bool open = false;  // the last series is a histogram whose end is still to come
        for (std::string_view rest = text; !rest.empty();) {
            const auto line = take(rest, '\n');
            if (line.starts_with("# HELP ")) {
                begin(all.emplace_back(), line.substr(7));
            } else if (line.starts_with("# TYPE ")) {
                all.back().type = type_of(line.substr(line.rfind(' ') + 1));
            } else if (!all.empty()) {
                open = add(all.back(), line, open);
            }
        }
        return all;
    }

  private:
    using labels = std::vector<prometheus::ClientMetric::Label>;

    // Up to the separator, which is dropped.
    static std::string_view take(std::string_view& rest, char separator) {
        const auto end = rest.find(separator);
        const auto part = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        return part;
    }

    static void begin(prometheus::MetricFamily& next, std::string_view line) {
        next.name = take(line, ' ');
        next.help = line;
    }

    static prometheus::MetricType type_of(std::string_view word) {
        return word == "counter"     ? prometheus::MetricType::Counter
               : word == "histogram" ? prometheus::MetricType::Histogram
                                     : prometheus::MetricType::Gauge;
    }

    static double number(std::string_view text) {
        if (text == "+Inf") return std::numeric_limits<double>::infinity();
        double value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);  // whatever the program's locale
        return value;
    }

    // Reads `name="value",...}`, where backslashes escape.
    static labels labels_in(std::string_view& rest) {
        labels all;
        while (!rest.empty() && rest.front() != '}') {
            if (rest.front() == ',') rest.remove_prefix(1);
            auto& one = all.emplace_back();
            one.name = take(rest, '=');
            rest.remove_prefix(1);
            while (rest.front() != '"') {
                const bool escaped = rest.front() == '\\';
                if (escaped) rest.remove_prefix(1);
                one.value += escaped && rest.front() == 'n' ? '\n' : rest.front();
                rest.remove_prefix(1);
            }
            rest.remove_prefix(1);
        }
        rest.remove_prefix(1);
        return all;
    }

    // True: more of the same histogram follows.
    static bool add(prometheus::MetricFamily& to, std::string_view line, bool open) {
        auto rest = line;
        const auto name = take(rest, line.find('{') < line.find(' ') ? '{' : ' ');
        auto having = line[name.size()] == '{' ? labels_in(rest) : labels{};
        const double value = number(rest.substr(rest.find_first_not_of(' ')));
        if (!open) to.metric.emplace_back();
        auto& last = to.metric.back();
        if (to.type == prometheus::MetricType::Counter) {
            last.counter.value = value;
        } else if (to.type == prometheus::MetricType::Gauge) {
            last.gauge.value = value;
        } else if (name.ends_with("_bucket")) {
            last.histogram.bucket.push_back({static_cast<std::uint64_t>(value), number(having.back().value)});
            return true;  // its labels are those of the sum
        } else if (name.ends_with("_sum")) {
            last.histogram.sample_sum = value;
            return true;
        } else {
            last.histogram.sample_count = static_cast<std::uint64_t>(value);
        }
        last.label = std::move(having);
        return false;
    }

    client& of_;
};

}  // namespace holdfast
