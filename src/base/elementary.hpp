// Elementary functions in double precision, to within a few units of 1e-15: the same bits on every
// platform, and without the tables of a C library, which are a twentieth of the WebAssembly module.
#pragma once

namespace relata {

/// e^x; 0 far below zero, infinity far above.
double natural_exp(double x);
/// Of a finite number above zero.
double natural_log(double x);

struct SineCosine {
  double sine;
  double cosine;
};
/// Of an angle in radians up to 1e6 in size, there to 1e-10.
SineCosine sine_cosine(double angle);

}  // namespace relata
