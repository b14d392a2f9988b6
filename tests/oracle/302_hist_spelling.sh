# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2016
# Blanks around, and instead of the colon.
E=events/initcall/initcall_finish/trigger
for text in 'hist keys=ret' 'hist:  keys=ret' '  hist:keys=ret  ' 'hist	keys=ret' \
  'hist: keys=ret' 'hist : keys=ret' 'histo:keys=ret' 'hist' 'hist:' 'hist: ' 'HIST:keys=ret' \
  'hist::keys=ret' 'hist:keys=ret\nhist:keys=func' 'hist:keys=ret\n\n' '' ' ' '!' 'keys=ret' 'hist:keys=ret : vals=hitcount' 'hist:keys=ret:vals=hitcount, ret'; do
  t $E "$text\n"
  hist_show "$E"
done
hist_clean "$E"
