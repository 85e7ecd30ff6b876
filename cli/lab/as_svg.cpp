#include "cli/lab/as_svg.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace holdfast::lab {

namespace {

class picture {
  public:
    picture(const timeline& lanes, const std::function<std::string(std::string_view)>& translated)
        : lanes_(lanes),
          translated_(translated),
          unit_((width - margin) / static_cast<double>(lanes.units)) {}

    std::string drawn(std::string_view label) {
        const auto height =
            head + lane_height * static_cast<double>(lanes_.beliefs.size() + lanes_.places.size()) + gap + 2;
        out_ = fmt::format(R"(<svg class="timeline" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">)",
                           width, height, escaped(label));
        for (const auto& one : lanes_.columns) step(one, height);
        double top = head;
        for (const auto& one : lanes_.beliefs) {
            belief(one, top);
            top += lane_height;
        }
        top += gap;
        for (const auto& one : lanes_.places) {
            place(one, top);
            top += lane_height;
        }
        return out_ + "</svg>";
    }

  private:
    // Small enough for a phone: the text stays readable there.
    static constexpr double width = 400;
    static constexpr double margin = 62;  // for the names of the lanes
    static constexpr double head = 24;    // for the numbers of the steps
    static constexpr double lane_height = 24;
    static constexpr double bar = 16;
    static constexpr double gap = 8;  // between beliefs and places

    [[nodiscard]] double x(std::size_t unit) const { return margin + unit_ * static_cast<double>(unit); }

    void step(const column& one, double height) {
        out_ += fmt::format(R"(<line class="step" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.0f}" y2="{2:.0f}"/>)",
                            x(one.first), head - 4, height);
        out_ += fmt::format(R"(<text class="number" x="{:.1f}" y="16">{}<title>{}</title></text>)",
                            x(one.first) + 2, one.number, escaped(translated_(one.text)));
    }

    void name(std::string_view text, double top) {
        out_ += fmt::format(R"(<text class="name" x="{:.0f}" y="{:.1f}">{}</text>)", margin - 8,
                            top + bar - 3, escaped(translated_(text)));
    }

    void box(std::string_view kind, const stretch& one, double top, double height) {
        out_ += fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)",
                            kind, x(one.from), top, x(one.to) - x(one.from), height);
    }

    void belief(const lane& of, double top) {
        name(of.name, top);
        for (const auto& one : of.stretches) {
            box(one.contested ? "contested" : "alone", one, top, bar);
            if (one.contested) box("hatch", one, top, bar);  // for readers who cannot distinguish the colours
        }
        for (const auto at : of.deaths) {
            out_ +=
                fmt::format("<text class=\"death\" x=\"{:.1f}\" y=\"{:.1f}\">\u00d7<title>{}</title></text>",
                            x(at), top + bar - 2, escaped(translated_("its process ends")));
        }
        for (const auto& one : of.waits) box("waits", one, top + bar / 2 - 2, 4);
        for (const auto& one : of.stills) box("still", one, top + bar + 1, 3);
    }

    void place(const lane& of, double top) {
        name(of.name, top);
        box("nobody", {0, lanes_.units, {}, false}, top + bar / 2, 1);
        for (const auto& one : of.stretches) {
            box(fmt::format("owner of-{}", one.who), one, top, bar);
            out_ += fmt::format(R"(<text class="who" x="{:.1f}" y="{:.1f}">{}</text>)",
                                (x(one.from) + x(one.to)) / 2, top + bar - 3, escaped(one.who));
        }
    }

    const timeline& lanes_;
    const std::function<std::string(std::string_view)>& translated_;
    double unit_;
    std::string out_;
};

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string as_svg(const timeline& lanes, std::string_view label,
                   const std::function<std::string(std::string_view)>& translated) {
    return picture{lanes, translated}.drawn(label);
}

}  // namespace holdfast::lab
