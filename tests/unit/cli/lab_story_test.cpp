// The table of `holdfast lab --all` and the reasons below it, as printed on a terminal of 80 columns.
#include "cli/lab/story.hpp"
#include "lab/ladder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

namespace holdfast::lab {
namespace {

class lab_table : public testing::Test {
  protected:
    lab_table() {
        auto& plays = all.emplace_back(rung_results{&gold, {}})
                          .schedules.emplace_back(schedule_results{&gold.schedules.front(), {}})
                          .plays;
        add(plays, "gold", role::flawed, "").flaw_seen = true;
        add(plays, "diamond", role::cure, "process B ended");
        add(plays, "holdfast_mutex", role::ours, "").flaw_seen = true;
    }

    static outcome& add(std::vector<tally>& plays, const std::string& scheme, role as, std::string broken) {
        tally one{{scheme, as}, 1, 0, {}};
        one.shown.scheme = scheme;
        one.shown.as = as;
        one.shown.broken = std::move(broken);
        if (as == role::flawed) one.as_predicted = 1;
        return plays.emplace_back(std::move(one)).shown;
    }

    // The table and the reasons.
    [[nodiscard]] std::string printed(language spoken) const {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), &std::fclose};
        const cli::page page{file.get(), false};
        const story view{page, spoken};
        view.head();
        for_each_play(all, [&](const rung& of, const schedule& what, const tally& one) {
            view.tell_line(of, what, one);
        });
        view.tell_reasons(all);
        std::string text;
        std::rewind(file.get());
        for (int c = 0; (c = std::fgetc(file.get())) != EOF;) text += static_cast<char>(c);
        return text;
    }

    static inline const rung& gold = *std::ranges::find(ladder(), std::string_view{"gold"}, &rung::name);
    results all;
};

TEST_F(lab_table, says_why_a_play_failed) {
    const auto text = printed(language::english);
    EXPECT_NE(text.find("diamond: NOT AS PREDICTED: process B ended\n"), text.npos) << text;
    EXPECT_NE(text.find("holdfast_mutex: NOT AS PREDICTED: the flaw was seen here"), text.npos) << text;
    EXPECT_EQ(text.find("gold:"), text.npos) << "what went as predicted needs no reason: " << text;
}

TEST_F(lab_table, has_no_english_words_in_chinese) {
    const auto text = printed(language::chinese);
    for (const auto* const english :
         {"rung", "schedule", "scheme", "flaw", "predicted", "seen", "PREDICTED", "ended"})
        EXPECT_EQ(text.find(english), text.npos) << english << ":\n" << text;
    EXPECT_NE(text.find("diamond: \u4e0e\u9884\u671f\u4e0d\u7b26\uff1a\u8fdb\u7a0b B"), text.npos) << text;
}

TEST_F(lab_table, aligns_its_columns_in_chinese) {
    // A Chinese character takes two columns and three bytes.
    const auto columns_before = [](const std::string& line, const std::string& cell) {
        std::size_t columns = 0;
        for (std::size_t i = 0, end = line.find(cell); i < end;) {
            const bool wide = (static_cast<unsigned char>(line[i]) & 0xf0U) == 0xe0U;
            columns += wide ? 2 : 1;
            i += wide ? 3 : 1;
        }
        return columns;
    };
    const auto text = printed(language::chinese);
    const auto head = text.substr(0, text.find('\n'));
    const auto line = text.substr(head.size() + 1, text.find('\n', head.size() + 1) - head.size() - 1);
    EXPECT_EQ(columns_before(head, "\u7b26\u5408\u9884\u671f"), columns_before(line, "1/1")) << text;
}

}  // namespace
}  // namespace holdfast::lab
