// Package recording turns what programs print on a terminal into pictures of it: SVG that plays once, and shows the
// end to whoever does not want movement.
//
// It knows what Croft prints: text whose characters take one column each, line ends, the sequences that write over
// lines, bold, dim, and six colours. Anything else is an error, so that a picture never shows less than the
// terminal did.
package recording
