/**
 * The page, whole: HTML with exactly one `<style>` and one `<script>`, to which the Content-Security-Policy is pinned by their hashes;
 * so there are no style attributes, no handlers in attributes, and no `innerHTML` of what came from outside. `__VIEW__` is replaced by
 * `PageData`.
 */
export const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kreconciler</title>
<style>body { font-family: system-ui, sans-serif; }</style>
</head>
<body>
<h1>kreconciler</h1>
<p>There is no page yet; the JSON is under <code>api/NAME</code>.</p>
<script type="application/json" id="view">__VIEW__</script>
<script>'use strict';</script>
</body>
</html>
`;
