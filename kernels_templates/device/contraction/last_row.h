/*
 * The last row of a tile that may be read: a whole run of rows before the operand's end. Later rows are read again from it.
 */
#ifndef KILN_DEVICE_CONTRACTION_LAST_ROW_H
#define KILN_DEVICE_CONTRACTION_LAST_ROW_H

KILN_DEVICE unsigned kiln_last_row(unsigned size, unsigned first, unsigned run)
{
    return size - first - run;
}

#endif
