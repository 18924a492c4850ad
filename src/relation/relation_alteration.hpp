// What may be changed about a learned relation without learning anew, to see what it does:
// ablations by hand, as Shaw et al. 2018 make them by training (tables 2 and 3).
#pragma once

namespace relata {

/// off: it adds nothing. keys_only, values_only: of vectors for both, the others are left out.
/// clipped: distances beyond a limit are read as that limit. mirrored: distances change their sign.
enum class Alteration { none, off, keys_only, values_only, clipped, mirrored };

struct RelationAlteration {
  Alteration kind = Alteration::none;
  int clip = 0;  // clipped: the limit, 0 or more
};

}  // namespace relata
