// The text that Prometheus scrapes: https://prometheus.io/docs/instrumenting/exposition_formats/ and
// OpenMetrics 1.0, https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md.
#pragma once

#include "observe/numbers.hpp"

#include <holdfast/metrics.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::observe {

using label = std::pair<std::string_view, std::string_view>;
// A label with an empty value is left out, as if it were not there.
using labels = std::initializer_list<label>;

// Series of one metric stand together, behind its description.
class exposition {
  public:
    explicit exposition(metrics_format as) : as_(as) {}

    // `name` without a suffix such as _total.
    void counter(std::string_view name, std::string_view help) { begin(name, "counter", help); }
    void gauge(std::string_view name, std::string_view help) { begin(name, "gauge", help); }
    void histogram(std::string_view name, std::string_view help) { begin(name, "histogram", help); }
    // A gauge of 1, in its labels what it says.
    void info(std::string_view name, std::string_view help);

    // --- series of the metric that was begun last
    void add(labels of, std::uint64_t value);
    void add(labels of, double value);
    void add(labels of, const holdfast::histogram& times);  // in seconds
    void add(labels of, const share_recorder& shares);

    [[nodiscard]] std::string take() &&;

  private:
    void begin(std::string_view name, std::string_view type, std::string_view help);
    void series(std::string_view suffix, labels of, label last = {});
    void bucket(labels of, std::string_view bound, std::uint64_t value);

    const metrics_format as_;
    std::string text_;
    std::string_view name_, type_;
};

}  // namespace holdfast::observe
