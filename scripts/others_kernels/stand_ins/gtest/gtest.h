// A stand-in for GoogleTest, as far as CUTLASS's unit tests need it. The program runs the tests whose
// names its arguments give ("suite.test"), or all of them, and returns how many failed.
#pragma once

#include <iostream>
#include <string>
#include <vector>

namespace testing {

struct Test {
  std::string name;
  void (*body)();
};
inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}
inline int& failures() {
  static int count = 0;
  return count;
}
inline bool add(const char* name, void (*body)()) {
  tests().push_back({name, body});
  return true;
}
struct Message {  // what a check is told with <<
  bool silent;
  explicit Message(bool holds, const char* text, int line) : silent(holds) {
    if (holds) return;
    if (failures()++ < 3) std::cout << "line " << line << ": " << text << '\n';
  }
  template <class T>
  Message const& operator<<(T const&) const {
    return *this;
  }
};
struct Ends {  // the function, after a check that must hold
  void operator=(Message const&) const {}
};

}  // namespace testing

// With ONE_TEST, only the test whose WANTED_suite_name is defined as 1 is compiled. The others
// remain templates that nothing instantiates, and are device functions so that nvcc omits their
// bodies from the host code.
#define TEST_WANTED(suite, name)                                                                   \
  static void suite##_##name##_body();                                                             \
  static const bool suite##_##name##_added = ::testing::add(#suite "." #name, suite##_##name##_body); \
  static void suite##_##name##_body()
#define TEST_UNWANTED(suite, name) \
  template <class>                 \
  static __device__ void suite##_##name##_body()
#ifdef ONE_TEST
#define TEST(suite, name) TEST_IF(WANTED_##suite##_##name, suite, name)
#define TEST_IF(wanted, suite, name) TEST_IF_PASTED(wanted, suite, name)
#define TEST_IF_PASTED(wanted, suite, name) TEST_SECOND(TEST_IS_##wanted TEST_WANTED, TEST_UNWANTED, 0)(suite, name)
#define TEST_IS_1 0,
#define TEST_SECOND(...) TEST_SECOND_OF(__VA_ARGS__)
#define TEST_SECOND_OF(first, second, ...) second
#else
#define TEST(suite, name) TEST_WANTED(suite, name)
#endif
#define EXPECT_TRUE(what) ::testing::Message(bool(what), #what, __LINE__)
#define EXPECT_FALSE(what) ::testing::Message(!(what), #what, __LINE__)
#define EXPECT_EQ(a, b) ::testing::Message((a) == (b), #a " == " #b, __LINE__)
#define EXPECT_NE(a, b) ::testing::Message((a) != (b), #a " != " #b, __LINE__)
#define EXPECT_LT(a, b) ::testing::Message((a) < (b), #a " < " #b, __LINE__)
#define EXPECT_LE(a, b) ::testing::Message((a) <= (b), #a " <= " #b, __LINE__)
#define EXPECT_GT(a, b) ::testing::Message((a) > (b), #a " > " #b, __LINE__)
#define EXPECT_NEAR(a, b, by) \
  ::testing::Message((a) - (b) <= (by) && (b) - (a) <= (by), #a " near " #b, __LINE__)
#define ASSERT_TRUE(what) \
  if (!(what)) return ::testing::Ends() = ::testing::Message(false, #what, __LINE__)
#define ASSERT_EQ(a, b) ASSERT_TRUE((a) == (b))
#define FAIL() return ::testing::Ends() = ::testing::Message(false, "FAIL()", __LINE__)
#define ADD_FAILURE() ::testing::Message(false, "ADD_FAILURE()", __LINE__)

#ifndef OF_TESTS_WITH_A_MAIN
int main(int count, char** given) {
  int ran = 0;
  for (auto const& test : ::testing::tests()) {
    bool asked = count < 2;
    for (int i = 1; i < count; ++i) asked = asked || test.name == given[i];
    if (!asked) continue;
    const int before = ::testing::failures();
    test.body();
    ++ran;
    std::cout << (::testing::failures() == before ? "OK " : "FAILED ") << test.name << '\n';
  }
  std::cout << ran << " tests, " << ::testing::failures() << " failures\n";
  return ran == 0 || ::testing::failures() > 0;
}
#endif
