// labels: unit
// Texts as editors save them.
#include "host/system/text_encoding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::text_encoding_test {
namespace {

using testing::HasSubstr;

std::string utf16(const std::u16string& text, bool big) {
  std::string out;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
    out += big ? std::string{high, low} : std::string{low, high};
  }
  return out;
}

TEST(TextEncoding, BecomesUtf8) {
  const std::string text = "a=1,5 \xc2\xb5m \xe2\x82\xac \xf0\x9f\x8c\x8d\r\nb\r\n";
  const std::u16string wide = u"a=1,5 \u00b5m \u20ac \U0001f30d\r\nb\r\n";
  EXPECT_EQ(decoded_text(text, "t"), text);
  EXPECT_EQ(decoded_text("\xef\xbb\xbf" + text, "t"), text);
  for (const bool big : {false, true}) {
    EXPECT_EQ(decoded_text(utf16(wide, big), "t"), text);
    EXPECT_EQ(decoded_text(utf16(u"\ufeff" + wide, big), "t"), text);
  }
}

TEST(TextEncoding, LeavesSingleBytesAndShortTexts) {
  for (const std::string& text : {std::string(), std::string("a"),
                                  std::string("Gr\xf6\xdf"
                                              "e 5 \xb5m\n"),
                                  std::string("ab\0\n", 4)})
    EXPECT_EQ(decoded_text(text, "t"), text);
  EXPECT_EQ(decoded_text("a\rb\r", "t"), "a\nb\n");
  EXPECT_EQ(decoded_text("a\r\nb\r", "t"), "a\r\nb\r");
}

TEST(TextEncoding, RefusesWhatIsDamaged) {
  const auto refusal = [](const std::string& text) -> std::string {
    return refusal_of([&] { decoded_text(text, "the file 'x'"); });
  };
  EXPECT_THAT(refusal(utf16(u"\ufeffabc", false) + "d"),
              testing::AllOf(HasSubstr("the file 'x'"), HasSubstr("ends within")));
  EXPECT_THAT(refusal(utf16(std::u16string(u"\ufeff") + char16_t{0xd800}, true)), HasSubstr("half of a character"));
  EXPECT_THAT(refusal(utf16(std::u16string(u"\ufeff") + char16_t{0}, false)), HasSubstr("zeros"));
}

}  // namespace
}  // namespace halocline::text_encoding_test
