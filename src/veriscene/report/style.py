"""The look of a report: that of the served page (serving/static/style.css), whose variables it shares."""

from __future__ import annotations

# Nothing may be wider than a 400-pixel screen: columns shrink, long words break, and a table that still is too wide
# scrolls by itself.
STYLE = """
:root{color-scheme:light dark;--page:#faf9f7;--card:#fff;--text:#1d1c1f;--quiet:#625f67;--line:#e3e0dc;
--control:#f3f1ee;--accent:#b8225a;--second:#0072b2;font:16px/1.5 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{--page:#151417;--card:#1f1e22;--text:#f1eff3;--quiet:#aba7b2;--line:#36343b;
--control:#2b2930;--accent:#ff86ad;--second:#5cb8f0}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 2rem 4rem;max-width:68rem;background:var(--page);color:var(--text);
overflow-wrap:anywhere}
h1{margin:0;font-size:1.25rem;font-weight:650;letter-spacing:-.01em;line-height:1.3}
h2{margin:2.5rem 0 .75rem;font-size:1.125rem;font-weight:650;letter-spacing:-.01em}
h3{margin:0 0 .5rem;font-size:.9375rem;font-weight:600}p{margin:.5rem 0}
svg{display:block;width:100%;height:auto}.chart{max-width:30rem}.square{max-width:20rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.3rem 1rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
th{font-weight:600}td.n,th.n{text-align:right;white-space:nowrap}
td small,th small{display:block;color:var(--quiet);font-weight:400}
.facts th{font-weight:400;color:var(--quiet);white-space:nowrap}
tr.group th{padding-top:.9rem}
summary{cursor:pointer;width:fit-content;margin:.75rem 0}
code{font-size:.8125rem;color:var(--quiet)}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(22rem,100%),1fr));gap:1.25rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:1.1rem;padding:1rem 1.25rem;min-width:0}
.card>svg{margin:.6rem 0}.card>svg g[transform]{filter:drop-shadow(0 0 .8px #fff) drop-shadow(0 0 .8px #fff)}
.card p{margin:.35rem 0}
.big{font-size:2.25rem;font-weight:680;letter-spacing:-.03em;line-height:1.15}
.quiet,.tags{color:var(--quiet);font-size:.875rem}.tags span{background:var(--control);border-radius:.45rem;
padding:.1rem .45rem;margin-right:.3rem;display:inline-block}
.wrong{color:var(--accent)}.first{color:var(--accent)}.second{color:var(--second)}
@media(max-width:46rem){body{padding:1rem 1rem 3rem}td,th{padding-right:.6rem}.card{padding:.8rem .9rem}
.facts th,.facts td{display:block;border:0;padding:.1rem 0}.facts td{border-bottom:1px solid var(--line)}}
"""
