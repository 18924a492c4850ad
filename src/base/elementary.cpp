#include "src/base/elementary.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace relata {
namespace {

// ln 2 and pi / 2 in two parts, the first with so few digits that whole multiples of it are exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kQuarterHigh = 0x1.921fb544p0;
constexpr double kQuarterLow = 0x1.0b4611a626331p-34;

constexpr int kExponentBias = 1023;
constexpr int kMantissaBits = 52;

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kExponentBias)
                               << kMantissaBits);
}

}  // namespace

double natural_exp(double x) {
  if (!(x > -700)) {
    return std::isnan(x) ? x : 0;
  }
  if (x > 709) {
    return std::numeric_limits<double>::infinity();
  }
  const double count = std::nearbyint(x / (kLn2High + kLn2Low));
  const double rest = (x - count * kLn2High) - count * kLn2Low;  // at most ln 2 / 2 in size
  double sum = 1;
  for (int k = 13; k > 0; --k) {
    sum = 1 + sum * rest / k;
  }
  return sum * power_of_two(static_cast<int>(count));
}

double natural_log(double x) {
  int exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= power_of_two(kMantissaBits + 1);
    exponent = -kMantissaBits - 1;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> kMantissaBits) - kExponentBias;
  double mantissa = std::bit_cast<double>((bits & ((std::uint64_t{1} << kMantissaBits) - 1)) |
                                          std::uint64_t{kExponentBias} << kMantissaBits);
  if (mantissa > 1.4) {
    mantissa /= 2;
    ++exponent;
  }
  // ln m = 2 artanh((m - 1) / (m + 1)); the argument is at most 0.18 in size.
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double sum = 0;
  for (int k = 21; k > 0; k -= 2) {
    sum = sum * square + 1.0 / k;
  }
  return exponent * kLn2High + (exponent * kLn2Low + 2 * ratio * sum);
}

SineCosine sine_cosine(double angle) {
  const double quarters = std::nearbyint(angle / (kQuarterHigh + kQuarterLow));
  const double rest = (angle - quarters * kQuarterHigh) - quarters * kQuarterLow;
  // Maclaurin's series up to rest^17; |rest| is at most pi / 4.
  const double square = rest * rest;
  double sine = 1;
  double cosine = 1;
  for (int k = 16; k > 0; k -= 2) {
    sine = 1 - sine * square / (k * (k + 1));
    cosine = 1 - cosine * square / (k * (k - 1));
  }
  sine *= rest;
  switch (static_cast<std::int64_t>(quarters) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace relata
