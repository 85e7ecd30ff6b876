// A client's metrics as text, which Prometheus and others scrape. docs/monitoring.md lists them.
#pragma once

#include <holdfast/export.hpp>

#include <string>
#include <string_view>

namespace holdfast {

class client;

enum class metrics_format {
    prometheus,    // the text format 0.0.4, which every scraper reads
    open_metrics,  // OpenMetrics 1.0.0
};

// All metrics of the client. Every series is there from the start at 0, because a rate cannot see a counter
// that appears. Thread-safe; asks no server. It takes some ten microseconds, and longer while the client has
// very many locks.
[[nodiscard]] HOLDFAST_API std::string metrics_text(client& of,
                                                    metrics_format as = metrics_format::prometheus);
// Where the client answers GET /metrics (config::metrics_listen), as "127.0.0.1:9464"; empty: nowhere.
// Thread-safe.
[[nodiscard]] HOLDFAST_API std::string metrics_address(const client& of);
// For the header Content-Type of an answer with that text.
[[nodiscard]] HOLDFAST_API std::string_view content_type(metrics_format of) noexcept;

}  // namespace holdfast
