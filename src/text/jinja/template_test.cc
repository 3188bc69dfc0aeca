// What Jinja 3.1 renders with the settings of transformers (tests/tokenizer/cross_check.py compares
// whole chat templates), and what is refused.
#include "text/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kw::text::jinja {
namespace {

using ::testing::HasSubstr;

Dict variables() {
  auto message = [](const char* role, const char* content) {
    return Value::dict({{"role", Value(role)}, {"content", Value(content)}});
  };
  return {{"messages", Value::list({message("user", " Hi "), message("assistant", "y\u00E9s")})},
          {"tools", Value()},
          {"add_generation_prompt", Value(true)}};
}

std::string rendered(std::string_view source) {
  auto made = Template::compile(source);
  if (!made) return "compile: " + made.error().message();
  auto text = made->render(variables());
  return text ? *text : "render: " + text.error().message();
}

TEST(JinjaTemplate, WhiteSpaceOfTags) {
  EXPECT_EQ(rendered("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(rendered("a\n  {%- if true -%}\n  b\n  {%- endif %}\nc\n\n"), "abc\n");
  EXPECT_EQ(rendered("a {{- 1 -}}  b"), "a1b");
  EXPECT_EQ(rendered("  {{ 1 }}\n{{ 2 }}"), "  1\n2");
  EXPECT_EQ(rendered("  {%+ if true +%}\nx{% endif %}"), "  \nx");
  EXPECT_EQ(rendered("  {# no #}\n  a {# b #}\nc"), "  a c");
  EXPECT_EQ(rendered("x{% if true %} \n{% endif %}y"), "x \ny");
  EXPECT_EQ(rendered("a\r\nb\rc"), "a\nb\nc");
}

TEST(JinjaTemplate, ScopesOfLoops) {
  EXPECT_EQ(rendered("{% set a = 1 %}{% for m in messages %}{{ a }}{% set a = 2 %}{{ a }}"
                     "{% endfor %}{{ a }}"),
            "12121");
  EXPECT_EQ(rendered("{% set ns = namespace(n=0) %}{% for m in messages %}"
                     "{% set ns.n = ns.n + loop.index %}{% endfor %}{{ ns.n }}"),
            "3");
  EXPECT_EQ(rendered("{% for m in messages if m.role == 'user' %}{{ loop.length }}{{ loop.last }}"
                     "{% else %}none{% endfor %}"),
            "1True");
  EXPECT_EQ(rendered("{% for x in nothing %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}"
                     "{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}"),
            "02");
  EXPECT_EQ(rendered("{% for i in [1, 2] %}{% continue %}{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}"),
            "role=user;content= Hi ;");
  EXPECT_EQ(rendered("{% if true %}{% set a = 1 %}{% endif %}{{ a }}"), "1");
  EXPECT_EQ(rendered("{% generation %}{% set a = 1 %}{{ a }}{% endgeneration %}{{ a }}"), "1");
}

TEST(JinjaTemplate, Expressions) {
  EXPECT_EQ(rendered("{{ 'a' 'b' ~ 1 ~ none ~ nothing }}"), "ab1None");
  EXPECT_EQ(rendered("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 3 * 2 }}"), "-4 2 3.5 16");
  EXPECT_EQ(rendered("{{ 1 if false }}{{ 'x' if not messages else 'y' }}"), "y");
  EXPECT_EQ(rendered("{{ 1 < 2 < 3 and 'user' in messages[0].role and 'a' not in 'b' }}"), "True");
  EXPECT_EQ(rendered("{{ messages[-1].content[1:] }}{{ 'abc'[::-1] }}{{ messages[5] is defined }}"),
            "\u00E9scbaFalse");
  EXPECT_EQ(rendered("{{ messages[0]['name'] is defined }}{{ tools is none }}{{ tools }}"),
            "FalseTrueNone");
  EXPECT_EQ(rendered("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"),
            "1");
  EXPECT_EQ(rendered("{{ messages[0] | tojson }}"), R"({"role": "user", "content": " Hi "})");
  EXPECT_EQ(rendered("{{ [1, 'a'] | tojson(indent=2) }}"), "[\n  1,\n  \"a\"\n]");
  EXPECT_EQ(rendered("[{{ messages[0].content | trim }}]{{ ' a b '.split() | join('-') }}"),
            "[Hi]a-b");
  EXPECT_EQ(rendered("{{ 'a</think>b'.split('</think>')[-1].lstrip('\\n') }}"), "b");
  EXPECT_EQ(rendered(R"({{ 'a\n\x41\u00e9\q' }})"), "a\nA\u00E9\\q");
  EXPECT_EQ(rendered("{{ {'a': {'b': 1}}['a'].b }}"), "1");
  EXPECT_EQ(rendered("{{ x | default('d') }}{{ '' | default('e', true) }}"), "de");
  EXPECT_EQ(rendered("{% set t %}a{{ 1 }}{% endset %}{{ t }}"), "a1");
}

TEST(JinjaTemplate, Macros) {
  EXPECT_EQ(rendered("{% macro say(a, b='!') %}{{ a }}{{ b }}{% endmacro %}{{ say('x') }}"
                     "{{ say(b='?', a='y') }}"),
            "x!y?");
  EXPECT_THAT(rendered("{% macro f(a) %}{{ f(a) }}{% endmacro %}{{ f(1) }}"),
              HasSubstr("too deeply"));
  EXPECT_THAT(rendered("{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}"), HasSubstr("takes 1"));
  EXPECT_THAT(rendered("{% macro f(a) %}{% endmacro %}{{ f(b=2) }}"),
              HasSubstr("no such argument"));
}

TEST(JinjaTemplate, RefusesWithTheTemplatesReason) {
  EXPECT_EQ(rendered("a\n{{ raise_exception('Roles must alternate') }}"),
            "render: line 2: Roles must alternate");
  EXPECT_THAT(rendered("{{ strftime_now('%d') }}"), HasSubstr("strftime_now"));
}

// Jinja raises an exception for each of these too, or renders what is not rendered here.
TEST(JinjaTemplate, RefusesWhatItDoesNotKnow) {
  for (const char* source :
       {"{% include 'x' %}", "{% raw %}{% endraw %}", "{% if x %}", "{{ 1 +", "{{ ) }}", "{{ 'a }}",
        "{% for x in y recursive %}{% endfor %}", "{{ f(*a) }}", "{{ caller() }}", "{% break %}",
        "{# x", "{{ 1e5 }}", "{% set loop = 1 %}", "{% endif %}"})
    EXPECT_THAT(rendered(source), HasSubstr("compile: line 1: ")) << source;
  for (const char* source : {"{{ x.y }}",
                             "{{ 'a' | wordwrap }}",
                             "{{ 'a' is nice }}",
                             "{{ 'a'.zfill(3) }}",
                             "{{ messages.append(1) }}",
                             "{{ messages }}",
                             "{{ 'a' + 1 }}",
                             "{{ 'a' < 1 }}",
                             "{{ f() }}",
                             "{{ 1 / 0 }}",
                             "{{ '\u00E9' | upper }}",
                             "{{ 1e + 1 }}",
                             "{{ range(200000) | length }}",
                             "{{ x + 'a' }}",
                             "{{ loop.index }}",
                             "{{ 'a'.__class__ }}",
                             "{{ 9223372036854775807 + 1 }}",
                             "{% set x.y = 1 %}",
                             "{{ none | length }}",
                             "{% for a in 1 %}{% endfor %}",
                             "{% for a, b in 'abc' %}{% endfor %}",
                             "{{ ['a'] | join(x.y) }}",
                             "{{ 'a' * 100000000 }}"})
    EXPECT_THAT(rendered(source), HasSubstr("line 1: ")) << source;
}

TEST(JinjaTemplate, HasLimits) {
  std::string deep;
  for (int at = 0; at < 300; ++at) deep += "(";
  EXPECT_THAT(rendered("{{ " + deep + "1" + std::string(300, ')') + " }}"),
              HasSubstr("this large"));
  std::string chain = "x";
  for (int at = 0; at < 2000; ++at) chain += ".y";
  EXPECT_THAT(rendered("{{ " + chain + " }}"), HasSubstr("this large"));
  std::string blocks;
  for (int at = 0; at < 300; ++at) blocks += "{% if 1 %}";
  EXPECT_THAT(rendered(blocks), HasSubstr("nesting"));
  EXPECT_THAT(rendered("{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}"
                       "{% endfor %}"),
              HasSubstr("steps"));
}

}  // namespace
}  // namespace kw::text::jinja
