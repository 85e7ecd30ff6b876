// What prometheus-cpp makes of a client's metrics (prometheus.hpp).
#include "server/scene.hpp"

#include <holdfast/prometheus.hpp>

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>
#include <string>

namespace holdfast::test {
namespace {

struct exposed {
    std::map<std::string, double> series;
    std::map<std::string, std::string> about;  // HELP and TYPE
};

exposed read(const std::string& text) {
    exposed all;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        if (const auto one = line.find("le=\"1.0\""); one != std::string::npos)
            line.replace(one, 8, "le=\"1\"");
        const auto space = line.rfind(' ');
        if (line.starts_with('#'))
            all.about[line.substr(0, line.find(' ', 7))] = line.substr(line.find(' ', 7));
        else
            all.series[line.substr(0, space)] = std::stod(line.substr(space + 1));
    }
    return all;
}

TEST(prometheus_metrics, are_those_of_the_text) {
    auto c = settings("local:");
    c.families = {{"stock", "stock:*"}, {"day", "d*"}};
    client of{c};
    (void)mutex(of, "stock:1").acquire();
    const auto held = mutex(of, "d").acquire();
    EXPECT_TRUE(eventually(patience, [&] { return metrics_text(of).find("store_up") != std::string::npos; }));

    const auto ours = [&] {
        auto all = read(metrics_text(of));
        // Time passes in between.
        std::erase_if(all.series,
                      [](const auto& one) { return one.first.find("longest_hold") != std::string::npos; });
        return all;
    };
    const auto before = ours();
    auto theirs = read(prometheus::TextSerializer{}.Serialize(prometheus_metrics{of}.Collect()));
    std::erase_if(theirs.series,
                  [](const auto& one) { return one.first.find("longest_hold") != std::string::npos; });
    EXPECT_GT(before.series.size(), 200U);
    for (const auto& [name, value] : before.series) {
        ASSERT_TRUE(theirs.series.contains(name)) << name;
        EXPECT_DOUBLE_EQ(theirs.series[name], value) << name;
    }
    EXPECT_EQ(theirs.series.size(), before.series.size());
    EXPECT_EQ(theirs.about, before.about);
}

}  // namespace
}  // namespace holdfast::test
